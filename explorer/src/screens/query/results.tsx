// The rows of a query, as a table, a tree or text.

import { json } from "@codemirror/lang-json";
import { useMemo, useState } from "preact/hooks";
import { pretty } from "../../protocol/json";
import { Button } from "../../ui/button";
import { DataGrid } from "../../ui/data_grid";
import { FormDialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { download, integer, milliseconds, plural, units } from "../../ui/format";
import { JsonTree } from "../../ui/json_tree";
import { Tabs } from "../../ui/tabs";
import { Chart } from "./chart";
import { Metrics } from "./metrics";
import { Plan } from "./plan";
import { csv, tableOf } from "./table";
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

type FileKind = "json" | "csv";

const FILES: Record<FileKind, { type: string; text: (rows: unknown[]) => string }> = {
  json: { type: "application/json", text: pretty },
  csv: { type: "text/csv", text: csv },
};

interface Props {
  run: QueryRun;
  running: boolean;
  fileName: string;
  onMore: () => void;
  /** Reads all rows. Resolves with the rows read so far, at the end or after a cancellation. */
  onAll: () => Promise<QueryRun | undefined>;
  onCancel: () => void;
}

export function Results({ run, running, fileName, onMore, onAll, onCancel }: Props) {
  const [view, setView] = useState<View>("table");
  /** The file that the person requested while the server had unread rows. */
  const [wanted, setWanted] = useState<FileKind | undefined>();
  const { rows, last } = run;
  const { columns, columnsLeft } = useMemo(() => tableOf(rows), [rows]);
  const save = (kind: FileKind, rows: unknown[]) => download(`${fileName}.${kind}`, FILES[kind].type, FILES[kind].text(rows));
  const want = (kind: FileKind) => (last.continuation ? setWanted(kind) : save(kind, rows));
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
      {view === "table" && columnsLeft > 0 && (
        <span class="badge hint" title="The other forms and both downloads have all columns.">{`${plural(columnsLeft, "column")} not shown`}</span>
      )}
      {last.continuation && <Button onClick={() => void onAll()} disabled={running}>All rows</Button>}
      <Button icon="download" kind="quiet" label="Download as JSON" onClick={() => want("json")} />
      <Button kind="quiet" label="Download as CSV" onClick={() => want("csv")}>CSV</Button>
    </>
  );
  const empty = rows.length === 0 && view !== "plan" && view !== "metrics";
  return (
    <>
      <Tabs label="Form of the result" tabs={VIEWS} chosen={view} onChoose={setView} aside={aside}>
        {empty ? <p class="empty-state">No row{last.continuation ? " on this page" : ""}. It took {integer(run.pages)} page and {units(run.charge)} RU to know.</p> : views[view]()}
      </Tabs>
      {wanted && (
        <PartialDownload
          kind={wanted}
          rows={rows.length}
          onLoaded={() => { save(wanted, rows); setWanted(undefined); }}
          onAll={async () => {
            const whole = await onAll();
            if (!whole || whole.last.continuation) throw new Error("Not all rows could be read.");
            save(wanted, whole.rows);
          }}
          onClose={() => { onCancel(); setWanted(undefined); }}
        />
      )}
    </>
  );
}

interface PartialProps {
  kind: FileKind;
  rows: number;
  onLoaded: () => void;
  onAll: () => Promise<void>;
  onClose: () => void;
}

/** Asks which rows to download while the server has more than the loaded rows. */
function PartialDownload({ kind, rows, onLoaded, onAll, onClose }: PartialProps) {
  return (
    <FormDialog title={`Download as ${kind.toUpperCase()}`} action="Read all rows and download" onClose={onClose} onSubmit={onAll}>
      <p>{`${plural(rows, "row")} of the result ${rows === 1 ? "is" : "are"} here, and the server has more. Reading all of them costs request units.`}</p>
      <div><Button icon="download" onClick={onLoaded}>{`Download the ${plural(rows, "row")} that ${rows === 1 ? "is" : "are"} here`}</Button></div>
    </FormDialog>
  );
}
