// Does order matter? Two sentences of the same words, with positions and without.
import { useState } from "preact/hooks";
import { runModel } from "../api";
import { usePage } from "../context";

const PAIR = ["我爱你", "你爱我"];

export function Order() {
  const { words } = usePage();
  const [outputs, setOutputs] = useState<string[][] | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [refused, setRefused] = useState("");
  const run = async () => {
    setRunning(true);
    try {
      const rows = [];
      for (const positions_off of [false, true]) {
        const row = [];
        for (const text of PAIR) row.push((await runModel({ text, positions_off })).output);
        rows.push(row);
      }
      setOutputs(rows);
    } catch (error) {
      setRefused((error as Error).message);
    }
    setRunning(false);
  };
  return (
    <section class="order">
      <h3>{words.orderTitle}</h3>
      <p class="lead">{words.orderHint}</p>
      <button type="button" class="primary" disabled={isRunning} onClick={() => void run()}>
        {isRunning ? words.running : words.orderRun}
      </button>
      {refused && <p class="error">{refused}</p>}
      {outputs && (
        <table class="order-table">
          <thead>
            <tr>
              <td />
              {PAIR.map((text) => (
                <th scope="col">{text}</th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {outputs.map((row, number) => (
              <tr key={number}>
                <th scope="row">{number ? words.without : words.with}</th>
                {row.map((output) => (
                  <td>{output}</td>
                ))}
                <td class="verdict">{row[0] === row[1] ? words.identical : words.differs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
