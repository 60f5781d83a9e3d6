"""The server answers its own page, on this machine, in JSON; all else is refused in one line."""

import http.client
import json

import pytest

from prosector.explain.options import RunOptions
from prosector.explain.server import PageServer

TEXT = "我喜欢深度学习。"
POST = "POST /api/run HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
CHUNKS = "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    known = {"Host": f"127.0.0.1:{server.port}"} | ({"Content-Type": "application/json"} if body is not None else {})
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, data, known | given)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response, text


def test_the_page_and_its_parts(server):
    for path, kind in (("/", "text/html"), ("/explain.js", "text/javascript"), ("/explain.css", "text/css")):
        response, text = ask(server, "GET", path)
        assert response.status == 200
        assert response.headers["Content-Type"].startswith(kind)
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert text


def test_a_run_and_the_arithmetic_of_its_cells(server):
    response, text = ask(server, "POST", "/api/run", {"text": "我爱你", "beam": 2})
    assert response.status == 200
    document = json.loads(text)
    assert document["output"] == "I love you."
    cell = {"run": document["run"], "address": "encoder.0.feed_forward.hidden", "row": 1, "column": 7}
    found = json.loads(ask(server, "POST", "/api/value", cell)[1])
    assert found["lines"][-1]["value"] == pytest.approx(found["recorded"], abs=1e-4)
    assert len(found["lines"][0]["left"]) == 256


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "says"),
    [
        ("GET", "/etc/passwd", None, {}, 404, "/etc/passwd"),
        ("GET", "/../explain.js", None, {}, 404, "there is no"),
        ("GET", "/", None, {"Host": "evil.example"}, 403, "127.0.0.1 only"),
        ("POST", "/api/run", {"text": "我"}, {"Host": "evil.example"}, 403, "127.0.0.1 only"),
        ("POST", "/api/run", {"text": "我"}, {"Origin": "http://evil.example"}, 403, "its own requests"),
        ("POST", "/api/run", {"text": "我"}, {"Content_Type": "text/plain"}, 415, "application/json"),
        ("POST", "/api/nothing", {}, {}, 404, "/api/nothing"),
        ("POST", "/api/run", b"{", {}, 400, "not JSON"),
        ("POST", "/api/run", b"\xff\xfe", {}, 400, "not JSON"),
        ("POST", "/api/run", [1], {}, 400, "an object"),
        ("POST", "/api/run", {"text": ""}, {}, 400, "blank"),
        ("POST", "/api/run", {"text": "我", "beam": 1e9}, {}, 400, "beam"),
        ("POST", "/api/run", b"[" * 100_000, {}, 400, "not JSON"),
        ("POST", "/api/run", b"{}", {"Content_Length": "2000000"}, 413, "1,000,000"),
        ("POST", "/api/value", {"run": 10**6, "address": "encoder", "row": 0, "column": 0}, {}, 400, "no longer kept"),
        ("POST", "/api/value", {"run": 1, "address": "nowhere", "row": 0, "column": 0}, {}, 400, "nowhere"),
        ("POST", "/api/value", {"run": 1, "address": "encoder", "row": 99, "column": 0}, {}, 400, "asked for"),
        ("POST", "/api/value", {"run": "1", "address": "encoder", "row": 0, "column": 0}, {}, 400, "run's number"),
    ],
)
def test_what_is_refused(server, method, path, body, headers, status, says):
    response, text = ask(server, method, path, body, **headers)
    assert response.status == status
    error = json.loads(text)["error"]
    assert says in error
    assert "\n" not in error
    assert "Traceback" not in error


def test_head_is_get_without_its_body(server):
    (head, nothing), (response, text) = ask(server, "HEAD", "/"), ask(server, "GET", "/")
    assert (head.status, nothing) == (200, "")
    assert head.headers["Content-Length"] == str(len(text.encode())) == response.headers["Content-Length"]


@pytest.mark.parametrize(
    ("request_", "status", "says"),
    [
        ("PUT / HTTP/1.1\r\nHost: HOST\r\n\r\n", 501, "PUT"),
        ("nonsense\r\n\r\n", 400, "nonsense"),
        (f"GET /{'a' * 70_000} HTTP/1.1\r\nHost: HOST\r\n\r\n", 414, "URI"),
        (POST + CHUNKS, 411, "and no chunks"),
        (POST + "Content-Length: 2\r\n" + CHUNKS, 411, "and no chunks"),
    ],
    ids=["method", "no-request", "long", "chunks", "length-and-chunks"],
)
def test_what_the_library_refuses_is_answered_as_all_else(server, request_, status, says, capfd):
    """One answer, in JSON, and then the line is closed: what may still come on it is no request."""
    import socket

    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request_.replace("HOST", f"127.0.0.1:{server.port}").encode())
        answer = b""
        while block := connection.recv(65_536):
            answer += block
    head, _, body = answer.decode().partition("\r\n\r\n") if answer.startswith(b"HTTP") else ("", "", answer.decode())
    if head:
        assert head.startswith(f"HTTP/1.1 {status} ")
        assert "Content-Type: application/json" in head
        assert "Connection: close" in head
    assert says in json.loads(body)["error"]
    assert capfd.readouterr().err == ""


def test_two_ask_at_once(server):
    """Each gets the run of its own words."""
    from concurrent.futures import ThreadPoolExecutor

    texts = ["我爱你", "你爱我", "谢谢你。", "你好。"]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda text: json.loads(ask(server, "POST", "/api/run", {"text": text})[1]), texts))
    assert [answer["text"] for answer in answers] == texts
    assert len({answer["run"] for answer in answers}) == 4


def test_a_port_that_is_taken_is_an_error(server, explainer):
    with pytest.raises(OSError, match="in use"):
        PageServer(explainer, RunOptions(text="我"), port=server.port)


def test_a_browser_that_leaves_is_no_event(server, capfd):
    import socket
    import struct

    body = json.dumps({"text": "我喜欢深度学习。"}).encode()
    head = f"POST /api/run HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave at once
    assert ask(server, "POST", "/api/run", {"text": "你好"})[0].status == 200
    assert capfd.readouterr().err == ""
