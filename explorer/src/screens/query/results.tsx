// The rows of a query in the form that suits them.

import { json } from "@codemirror/lang-json";
import { useMemo, useState } from "preact/hooks";
import { pretty } from "../../protocol/json";
import { Button } from "../../ui/button";
import { DataGrid } from "../../ui/data_grid";
import { Editor } from "../../ui/editor";
import { download, integer, milliseconds, plural, units } from "../../ui/format";
import { JsonTree } from "../../ui/json_tree";
import { Tabs } from "../../ui/tabs";
import { Chart } from "./chart";
import { Metrics } from "./metrics";
import { Plan } from "./plan";
import { csv, tableColumns } from "./table";
import type { QueryRun } from "./use_query";

type View = "table" | "tree" | "json" | "chart" | "plan" | "metrics";

const VIEWS: { name: View; title: string }[] = [
  { name: "table", title: "Table" },
  { name: "tree", title: "Tree" },
  { name: "json", title: "JSON" },
  { name: "chart", title: "Chart" },
  { name: "plan", title: "Plan" },
  { name: "metrics", title: "Metrics" },
];

interface Props {
  run: QueryRun;
  running: boolean;
  fileName: string;
  onMore: () => void;
  onAll: () => void;
}

export function Results({ run, running, fileName, onMore, onAll }: Props) {
  const [view, setView] = useState<View>("table");
  const { rows, last } = run;
  const columns = useMemo(() => tableColumns(rows), [rows]);
  const text = useMemo(() => (view === "json" ? pretty(rows) : ""), [view, rows]);
  const more = last.continuation && !running ? onMore : undefined;
  const views: Record<View, () => preact.ComponentChildren> = {
    table: () => <DataGrid label="Rows" columns={columns} rows={rows} onNearEnd={more} />,
    tree: () => <JsonTree label="Rows" values={rows} onNearEnd={more} />,
    json: () => <Editor label="Rows as JSON" value={text} extensions={json()} readOnly />,
    chart: () => <Chart rows={rows} />,
    plan: () => (last.plan ? <Plan plan={last.plan} /> : <p class="empty">The server tells no plan.</p>),
    metrics: () => <Metrics run={run} />,
  };
  const aside = (
    <>
      <span class="figures" role="status">
        <b>{plural(rows.length, "row")}{last.continuation ? "+" : ""}</b>
        <span>{units(run.charge)} RU</span>
        <span>{milliseconds(run.milliseconds)}</span>
        <span>{plural(run.pages, "page")}</span>
      </span>
      {last.continuation && <Button onClick={onAll} disabled={running}>All rows</Button>}
      <Button icon="download" kind="quiet" label="Download as JSON" onClick={() => download(`${fileName}.json`, "application/json", pretty(rows))} />
      <Button kind="quiet" label="Download as CSV" onClick={() => download(`${fileName}.csv`, "text/csv", csv(rows))}>CSV</Button>
    </>
  );
  const empty = rows.length === 0 && view !== "plan" && view !== "metrics";
  return (
    <Tabs label="Form of the result" tabs={VIEWS} chosen={view} onChoose={setView} aside={aside}>
      {empty ? <p class="empty-state">No row{last.continuation ? " on this page" : ""}. It took {integer(run.pages)} page and {units(run.charge)} RU to know.</p> : views[view]()}
    </Tabs>
  );
}
