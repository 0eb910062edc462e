// Findings: what is wrong now, as alerts and detectors judge it, the worst first; what to do, and who has seen it.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { findings } from "../api/queries";
import type { FindingStatus } from "../api/schema";
import { roughly } from "../format/duration";
import { findingColumns } from "../findings/finding-columns";
import { OneFinding } from "../findings/one-finding";
import { DataTable } from "../parts/data-table";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { TickText } from "../parts/tick";
import { words } from "../words";

const W = words.findings;
const isSeen = (row: FindingStatus) => row.acked_by !== null || row.silenced_until !== null;

export default function FindingsPage() {
  const { finding } = useSearch({ from: "/findings" });
  const navigate = useNavigate({ from: "/findings" });
  const choose = (id: string | undefined) => void navigate({ search: (before) => ({ ...before, finding: id }), replace: true });
  const { data, error, refetch } = useQuery(findings);
  const rows = data?.findings ?? [];
  const chosen = rows.find((row) => row.id === finding);
  const judged = data?.judged_at ?? null;
  const ago = judged === null ? W.notJudged : <TickText of={(now) => W.judged(words.words.ago(roughly(Math.max(0, now - judged))))} />;
  const settling = data?.settling_until ?? null;
  return (
    <Page title={W.title} aside={data && <span className={data.is_judged ? "text-soft" : "text-soon-ink"}>{data.is_judged ? ago : W.notJudged}</span>}>
      {finding !== undefined && data && (chosen ? <OneFinding key={chosen.id} finding={chosen} /> : <Panel><Empty title={W.gone} /></Panel>)}
      <Panel label={W.title}>
        {data === undefined ? (error ? <TroubleState error={error} retry={() => void refetch()} /> : <LoadingRows rows={4} />)
          : data === null ? <Empty title={W.older} />
          : rows.length === 0 ? (data.is_judged ? <Empty title={settling === null ? W.well : W.wellSoFar}>{settling !== null && <TickText of={(now) => W.settling(roughly(Math.max(1, settling - now)))} />}</Empty> : <Empty title={W.unjudged}>{W.unjudgedMore}</Empty>)
          : <DataTable label={W.title} columns={findingColumns} sections={sections(rows)} rowKey={(row) => row.id} onOpen={(row) => choose(row.id === finding ? undefined : row.id)} openKey={finding ?? null} />}
      </Panel>
    </Page>
  );
}

function sections(rows: readonly FindingStatus[]) {
  const fires = rows.filter((row) => row.firing && !isSeen(row));
  const seen = rows.filter((row) => row.firing && isSeen(row));
  const cleared = rows.filter((row) => !row.firing);
  const isBad = fires.some((row) => row.severity === "page");
  return [
    { key: "fires", title: W.fires, kind: isBad ? ("bad" as const) : ("soon" as const), rows: fires },
    { key: "seen", title: W.seen, rows: seen },
    { key: "cleared", title: W.cleared, rows: cleared },
  ].filter((one) => one.rows.length > 0);
}
