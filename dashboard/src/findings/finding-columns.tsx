// The columns of a finding in a list, and its level as a word with a shape.
import type { FindingStatus } from "../api/schema";
import { roughly } from "../format/duration";
import type { Column } from "../parts/data-table";
import { StateWord, type StateName } from "../parts/state-word";
import { TickText } from "../parts/tick";
import { Ago } from "../parts/when";
import { words } from "../words";

const W = words.findings;
const STATES: Record<string, StateName> = { page: "overdue", ticket: "late", show: "ready" };

export function Level({ finding }: { finding: FindingStatus }) {
  if (!finding.firing) return <StateWord calm state="completed" label={W.clearedAt} />;
  const isSeen = finding.acked_by !== null || finding.silenced_until !== null;
  return <span title={W.levelTitles[finding.severity]}><StateWord calm={isSeen} state={STATES[finding.severity] ?? "ready"} label={W.levels[finding.severity]} /></span>;
}

/** Who has seen it, or for how long nobody is told. */
export function Seen({ finding: { silenced_until, acked_by } }: { finding: FindingStatus }) {
  if (silenced_until !== null) return <TickText of={(now) => W.silencedFor(roughly(Math.max(0, silenced_until - now)))} />;
  return acked_by === null ? null : <>{W.seenBy(acked_by)}</>;
}

export const findingColumns: readonly Column<FindingStatus>[] = [
  { key: "severity", title: W.severity, width: "92px", cell: (row) => <Level finding={row} /> },
  { key: "title", title: W.finding, cell: (row) => <b className="font-[550]" title={row.about}>{row.title}</b> },
  { key: "subject", title: W.about, width: "18%", from: "sm", cell: (row) => <span className={row.subject ? "mono" : "text-soft"} title={row.subject}>{row.subject || W.store}</span> },
  { key: "evidence", title: W.evidence, width: "34%", from: "lg", cell: (row) => <span className="text-soft" title={row.evidence}>{row.evidence}</span> },
  { key: "seen", title: W.who, width: "13%", from: "xl", cell: (row) => <span className="text-soft"><Seen finding={row} /></span> },
  { key: "since", title: W.since, width: "96px", isNumber: true, cell: (row) => <Ago at={row.cleared_at ?? row.since} /> },
];
