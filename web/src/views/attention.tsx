// Attention: all heads side by side, and one of them in detail.
import { usePage } from "../context";
import { type Attention, attentionsOf, type Role } from "../document";
import { percent } from "../parts/candidates";
import { Thumbnail } from "../parts/thumbnail";
import { unpackFrom } from "../tensor";
import { layerName, sequenceName } from "../words/meaning";
import { Head } from "./head";

export function AttentionView() {
  const { document, state, words } = usePage();
  const attentions = attentionsOf(document.machine).filter((each) => `${each.address}.weights` in document.values);
  const chosen = attentions.find((each) => each.address === state.at) ?? attentions.at(-1);
  if (!chosen) return <p class="note">{words.notHere}</p>;
  const head = Math.min(state.head, (chosen.heads ?? 1) - 1);
  return (
    <div class="attention">
      <section>
        <h2>{words.attention}</h2>
        <p class="lead">{words.whichHead}</p>
        <div class="groups">
          {groupsOf(attentions).map(([name, members]) => (
            <Group key={name} name={name} members={members} chosen={chosen.address} head={head} />
          ))}
        </div>
      </section>
      <Head attention={chosen} head={head} />
    </div>
  );
}

/** Attentions of one kind and stack, in the order of their layers. */
function groupsOf(attentions: Attention[]): [string, Attention[]][] {
  const groups = new Map<string, Attention[]>();
  for (const attention of attentions) {
    const name = `${attention.stack.address} ${attention.kind}`;
    groups.set(name, [...(groups.get(name) ?? []), attention]);
  }
  return [...groups];
}

function Group({ name, members, chosen, head }: { name: string; members: Attention[]; chosen: string; head: number }) {
  const { document, go, words } = usePage();
  const isTranslator = document.task === "translate";
  const titles: Record<string, string> = { "encoder self": words.encoderSelf, "decoder self": words.decoderSelf, "decoder cross": words.decoderCross };
  const stage = document.machine.stacks.length > 1 ? `, ${sequenceName(name.split(" ")[0] ?? "", words)}` : "";
  const title = (isTranslator && titles[name]) || `${words.self}${stage}`;
  return (
    <div class="group">
      <h3>{title}</h3>
      {members.map((attention) => {
        const weights = unpackFrom(document.values, `${attention.address}.weights`);
        const roles = document.roles[attention.address] ?? [];
        return (
          <div class="layer-of-heads" key={attention.address}>
            <span class="layer-name">{layerName(attention.layer, words)}</span>
            {Array.from({ length: attention.heads ?? 0 }, (_, number) => {
              const isChosen = attention.address === chosen && number === head;
              const role = roles[number];
              const name = `${layerName(attention.layer, words)}, ${words.head} ${number + 1}`;
              return (
                <button
                  type="button"
                  key={number}
                  class={`small ${isChosen ? "chosen" : ""}`}
                  aria-pressed={isChosen}
                  aria-label={`${title}: ${name}`}
                  title={role ? `${name}: ${roleTitle(role, words)}` : name}
                  onClick={() => go({ at: attention.address, head: number, cell: null })}
                >
                  {weights && <Thumbnail values={weights.part(number)} />}
                  <small>{(role && words.roleShort[role.name]) ?? " "}</small>
                </button>
              );
            })}
          </div>
        );
      })}
    </div>
  );
}

export function roleTitle(role: Role, words: { role: Record<string, string>; roleTitle: (name: string, share: string) => string }): string {
  if (role.name === "mixed") return words.role["mixed"] ?? "";
  const share = role[role.name as keyof Role];
  return words.roleTitle(words.role[role.name] ?? role.name, typeof share === "number" ? percent(share) : "");
}
