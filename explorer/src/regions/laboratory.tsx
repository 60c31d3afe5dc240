// The operators' screen. It reads the report twice a second, and shows the answer to every order at once.

import { useEffect, useRef, useState } from "preact/hooks";
import { explain, isCancelled } from "../protocol/errors";
import { Button } from "../ui/button";
import { Mark } from "../ui/icon";
import { ThemeButton } from "../ui/theme_button";
import { SAMPLES } from "./lag_line";
import { Login } from "./login";
import { type Choice, RegionMap } from "./map";
import { type Report, WrongKey, close, key, readReport } from "./operators";
import { type Carry, EveryLink, ForceDialog, LinkOrders, RegionOrders } from "./orders";
import { Links, Partitions, Regions } from "./tables";
import { lagOf } from "./words";

const EVERY_MS = 500;

export function Laboratory() {
  return key.value ? <Account /> : <Login />;
}

function Account() {
  const [report, setReport] = useState<Report | undefined>();
  const [problem, setProblem] = useState("");
  const [silent, setSilent] = useState("");
  const [choice, setChoice] = useState<Choice | undefined>();
  const [forced, setForced] = useState("");
  const lags = useRef(new Map<string, number[]>());

  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = async () => {
      try {
        const report = await readReport(controller.signal);
        for (const region of report.regions) {
          const before = lags.current.get(region.name) ?? [];
          lags.current.set(region.name, [...before, lagOf(region, report)?.records ?? 0].slice(-SAMPLES));
        }
        setReport(report);
        setSilent("");
      } catch (error) {
        if (isCancelled(error)) return;
        if (error instanceof WrongKey) return close();
        setSilent(explain(error));
      }
      timer = setTimeout(() => void again(), EVERY_MS);
    };
    void again();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, []);

  const carry: Carry = async (order) => {
    setProblem("");
    try {
      setReport(await order());
    } catch (error) {
      setProblem(explain(error));
    }
  };
  if (!report) return <main id="main" class="empty-state" tabIndex={-1}><p>{silent || "Asking the server…"}</p></main>;
  return (
    <div class="regions-frame">
      <header class="bar">
        <span class="brand"><Mark /><span>Orrery regions</span></span>
        <span class={silent ? "live off" : "live"}>{silent ? "no answer" : "live"}</span>
        <span class="spacer" />
        <ThemeButton />
        <Button icon="leave" kind="quiet" label="Forget the key" onClick={close} />
      </header>
      <main id="main" class="page" tabIndex={-1}>
        <header class="page-head compact">
          <div>
            <h1>{report.multiWrite ? "Every region takes writes" : `${report.writeRegion ?? "No region"} takes the writes`}</h1>
            <p class="note">epoch {report.epoch}{report.perPartitionFailover ? ", single partitions fail over" : ""}</p>
          </div>
          <EveryLink carry={carry} />
        </header>
        {(silent || problem) && <p class="problem" role="alert">{silent || problem}</p>}
        <div class="columns">
          <section class="card"><RegionMap report={report} choice={choice} onChoose={setChoice} /></section>
          <Chosen report={report} choice={choice} carry={carry} onForce={setForced} />
        </div>
        <Regions report={report} lags={lags.current} onChoose={setChoice} />
        <Links report={report} onChoose={setChoice} />
        {report.partitions.length > 0 && <Partitions report={report} />}
      </main>
      {forced && <ForceDialog to={forced} report={report} onDone={setReport} onClose={() => setForced("")} />}
    </div>
  );
}

function Chosen({ report, choice, carry, onForce }: {
  report: Report;
  choice: Choice | undefined;
  carry: Carry;
  onForce: (region: string) => void;
}) {
  if (choice && "region" in choice) {
    const region = report.regions.find(({ name }) => name === choice.region);
    if (region) return <RegionOrders region={region} report={report} carry={carry} onForce={() => onForce(region.name)} />;
  } else if (choice) {
    const link = report.links.find(({ from, to }) => from === choice.from && to === choice.to);
    if (link) return <LinkOrders key={`${link.from}\n${link.to}`} link={link} carry={carry} />;
  }
  return (
    <section class="card">
      <h2>Make something go wrong</h2>
      <p>Choose a region to take it down or to let it take the writes, or a link to delay, pause or cut it. Run your application beside, and see what it does.</p>
    </section>
  );
}
