// What the figures of a task say about its lease, and what to do.
import type { Finding, TaskTiming } from "../api/schema";
import { Icon } from "../parts/icon";
import { Panel } from "../parts/page";
import { sentence } from "../parts/states";
import { words } from "../words";

const W = words.task;
const HUES: Record<Finding["severity"], string> = { info: "text-ink", warning: "text-soon-ink", critical: "text-soon-ink" };

export function AdvicePanel({ timing }: { timing: TaskTiming | null | undefined }) {
  if (!timing) return null;
  return (
    <Panel title={W.advice}>
      {timing.findings.length === 0 ? <p className="m-0 px-4 py-3 text-soft">{W.noAdvice}</p> : (
        <ul className="m-0 list-none p-0">
          {timing.findings.map((one) => <li key={one.id} className="border-b border-line-soft px-4 py-2.5 last:border-0"><OneFinding finding={one} /></li>)}
        </ul>
      )}
    </Panel>
  );
}

function OneFinding({ finding }: { finding: Finding }) {
  const isWell = finding.id === "healthy";
  return (
    <div className="grid gap-x-6 gap-y-0.5 md:grid-cols-[200px_minmax(0,1fr)]">
      <p className={`m-0 flex items-start gap-2 font-[550] ${isWell ? "text-done" : HUES[finding.severity]}`}><span className="mt-[3px]"><Icon name={isWell ? "tick" : finding.severity === "info" ? "note" : "warning"} size={12} /></span>{W.findings[finding.id] ?? finding.id.replaceAll("_", " ")}</p>
      <p className="m-0">{sentence(finding.evidence)} <span className="text-soft">{finding.remedy}</span></p>
    </div>
  );
}
