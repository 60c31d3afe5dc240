// The cost of a page, and the indexes that served or would serve the query.

import type { IndexReport } from "../../protocol/query";
import { bytes, integer } from "../../ui/format";
import type { QueryRun } from "./use_query";

const NAMES: readonly (readonly [string, string, (value: number) => string])[] = [
  ["totalExecutionTimeInMs", "Time on the server", (value) => `${value.toFixed(2)} ms`],
  ["queryCompileTimeInMs", "Compiling", (value) => `${value.toFixed(2)} ms`],
  ["queryPhysicalPlanBuildTimeInMs", "Planning", (value) => `${value.toFixed(2)} ms`],
  ["indexLookupTimeInMs", "Reading indexes", (value) => `${value.toFixed(2)} ms`],
  ["documentLoadTimeInMs", "Reading items", (value) => `${value.toFixed(2)} ms`],
  ["VMExecutionTimeInMs", "Running", (value) => `${value.toFixed(2)} ms`],
  ["retrievedDocumentCount", "Items read", integer],
  ["retrievedDocumentSize", "Bytes read", bytes],
  ["outputDocumentCount", "Rows", integer],
  ["outputDocumentSize", "Bytes of rows", bytes],
  ["indexUtilizationRatio", "Rows for each item read", (value) => value.toFixed(2)],
];

export function Metrics({ run }: { run: QueryRun }) {
  const { metrics, indexes } = run.last;
  return (
    <div class="metrics">
      <section>
        <h3>The last page</h3>
        <table class="table small">
          <tbody>
            {NAMES.map(([name, title, format]) => metrics?.[name] !== undefined && (
              <tr key={name}><th scope="row">{title}</th><td class="number">{format(metrics[name])}</td></tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h3>Partitions read</h3>
        <p>{run.partitions.map((id) => <span class="badge" key={id}>{id}</span>)}</p>
        <h3>Indexes</h3>
        {indexes ? <Indexes indexes={indexes} /> : <p class="empty">The page says nothing about indexes.</p>}
      </section>
    </div>
  );
}

function Indexes({ indexes }: { indexes: IndexReport }) {
  const lists = [
    { title: "Used", lists: indexes.UtilizedIndexes, kind: "good" },
    { title: "Would help", lists: indexes.PotentialIndexes, kind: "hint" },
  ];
  return (
    <>
      {lists.map(({ title, lists, kind }) => {
        const specs = [
          ...lists.SingleIndexes.map((index) => index.IndexSpec),
          ...lists.CompositeIndexes.map((index) => index.IndexSpecs.join(", ")),
        ];
        return (
          <div key={title} class="index-list">
            <h4>{title}</h4>
            {specs.length === 0 ? <p class="empty">none</p> : specs.map((spec) => <code class={`badge ${kind}`} key={spec}>{spec}</code>)}
          </div>
        );
      })}
    </>
  );
}
