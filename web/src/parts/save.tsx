// Save what a view shows, as it stands there, as one SVG or PNG.
import { usePage } from "../context";
import { savePng, saveSvg } from "../save/file";
import { pictureOf } from "../save/svg";

export function Save({ view }: { view: string }) {
  const { document, words } = usePage();
  const save = (kind: "svg" | "png") => {
    const beside = [...globalThis.document.querySelectorAll(".layout > *")];
    const shown = beside.filter((each) => getComputedStyle(each).position !== "fixed"); // not what lies over the view
    const title = [document.text, document.output].filter(Boolean).join(" → ");
    const picture = pictureOf(shown, title);
    const name = `prosector-${view}`;
    if (kind === "svg") saveSvg(picture, name);
    else void savePng(picture, name);
  };
  return (
    <div class="save" data-unsaved role="group" aria-label={words.savePicture}>
      <span aria-hidden="true">{words.savePicture}</span>
      {(["svg", "png"] as const).map((kind) => (
        <button type="button" key={kind} aria-label={words.saveAs(kind.toUpperCase())} title={words.saveAs(kind.toUpperCase())} onClick={() => save(kind)}>
          {kind.toUpperCase()}
        </button>
      ))}
    </div>
  );
}
