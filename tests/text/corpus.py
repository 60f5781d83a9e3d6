"""A small parallel corpus, written for these tests."""

PAIRS = [
    ("I like deep learning.", "我喜欢深度学习。"),
    ("Do you like it too?", "你也喜欢吗？"),
    ("He said: good!", "他说：「好！」"),
    ("She reads a book in the garden every morning.", "她每天早上在花园里看书。"),
    ("The cat sleeps on the old chair.", "猫睡在旧椅子上。"),
    ("Two boats crossed the lake before noon.", "中午之前有两条船过了湖。"),
    ("My brother repairs clocks and radios.", "我哥哥修钟表和收音机。"),
    ("It rained for three days, so the path was muddy.", "下了三天雨，所以小路很泥泞。"),
    ("Please close the window; the wind is cold.", "请关上窗户，风很冷。"),
    ("We learn a new word each day.", "我们每天学一个新词。"),
    ("The teacher wrote the answer on the board.", "老师把答案写在黑板上。"),
    ("Where did you put the blue cup?", "你把蓝色的杯子放在哪里了？"),
    ("The train to the coast leaves at 9.30.", "去海边的火车九点半开。"),
    ("I have never seen so many stars.", "我从来没见过这么多星星。"),
    ("They planted an apple tree behind the house.", "他们在房子后面种了一棵苹果树。"),
    ("The soup is too salty for me.", "这汤对我来说太咸了。"),
    ("Her grandmother tells the best stories.", "她奶奶讲的故事最好听。"),
    ("A small dog followed us home.", "一只小狗跟着我们回了家。"),
    ("The machine learns from many sentences.", "机器从很多句子里学习。"),
    ("I wrote the program in Python.", "我用 Python 写了这个程序。"),
    ("The model looks at each word of the sentence.", "模型看句子里的每个词。"),
    ("He walked 3.5 km to the school.", "他走了3.5公里去学校。"),
    ("Is the bakery open on Sunday?", "面包店星期天开门吗？"),
    ("The river is high after the rain.", "雨后河水很高。"),
    ("We saw a deep lake between the mountains.", "我们看见山间有一个很深的湖。"),
    ("Learning takes time and patience.", "学习需要时间和耐心。"),
    ("The light in the kitchen is still on.", "厨房的灯还亮着。"),
    ("He likes tea, and she likes coffee.", "他喜欢茶，她喜欢咖啡。"),
    ("The child drew a house with a red roof.", "孩子画了一座红屋顶的房子。"),
    ("Tomorrow we will visit the museum (if it is open).", "明天我们要去博物馆（如果开门的话）。"),
]
ENGLISH = [english for english, _ in PAIRS]
CHINESE = [chinese for _, chinese in PAIRS]

# What a translator meets: both languages' quotes and brackets, numbers, what no corpus has, odd spaces.
HARD = [
    "我喜欢深度学习。",
    "他说：「好！」（真的吗？）",
    "I like deep learning.",
    '"It\'s 3.5 km," he said; don’t!',
    "用 PyTorch 写的 U-Net，2019年。",
    "👩‍🔬 🇨🇳 é é ﬁ ½ ①",
    "𠮷野家の龘",
    "  two  spaces \tand\na line\r\n",
    "<sos> <pad> <unk> <0x41> </s>",
    " ",
    "",
]
