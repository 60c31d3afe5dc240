// The content of the picture as tables, for people who prefer text or use no mouse.

import { Button } from "../ui/button";
import { LagLine } from "./lag_line";
import type { Choice } from "./map";
import type { Report } from "./operators";
import { behind, lacksOf, stateOf, troubleOf } from "./words";

export function Regions({ report, lags, onChoose }: { report: Report; lags: Map<string, number[]>; onChoose: (choice: Choice) => void }) {
  return (
    <section class="card table-room">
      <h2 id="regions">Regions</h2>
      <table class="table" aria-labelledby="regions">
        <thead><tr><th scope="col">Region</th><th scope="col">State</th><th scope="col">Behind</th><th scope="col">Last minute</th><th scope="col" class="number">Applied</th></tr></thead>
        <tbody>
          {report.regions.map((region) => (
            <tr key={region.name}>
              <th scope="row"><Button kind="quiet" onClick={() => onChoose({ region: region.name })}>{region.name}</Button></th>
              <td>{stateOf(region, report)}</td>
              <td>{behind(region, report)}</td>
              <td><LagLine samples={lags.get(region.name) ?? []} name={region.name} /></td>
              <td class="number">{region.applied ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Links({ report, onChoose }: { report: Report; onChoose: (choice: Choice) => void }) {
  return (
    <section class="card table-room">
      <h2 id="links">Links</h2>
      <table class="table" aria-labelledby="links">
        <thead><tr><th scope="col">Link</th><th scope="col">State</th><th scope="col">Lacks</th></tr></thead>
        <tbody>
          {report.links.map((link) => (
            <tr key={`${link.from}\n${link.to}`}>
              <th scope="row"><Button kind="quiet" onClick={() => onChoose({ from: link.from, to: link.to })}>{`${link.from} → ${link.to}`}</Button></th>
              <td>{troubleOf(link) || "open"}</td>
              <td>{lacksOf(link)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Partitions({ report }: { report: Report }) {
  return (
    <section class="card table-room">
      <h2 id="partitions">Partitions that are written elsewhere, or down</h2>
      <table class="table" aria-labelledby="partitions">
        <thead><tr><th scope="col">Partition</th><th scope="col">Written in</th><th scope="col">Down in</th></tr></thead>
        <tbody>
          {report.partitions.map(({ partition, owner, automatic, down }) => (
            <tr key={partition}>
              <th scope="row"><code>{partition}</code></th>
              <td>{owner ?? ""}{automatic ? " (comes back by itself)" : ""}</td>
              <td>{down.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
