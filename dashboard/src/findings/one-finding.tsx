// One finding: the figures, what it means, what to do, and what can be said about it.
import { Link } from "@tanstack/react-router";
import { config } from "../api/config";
import type { FindingStatus } from "../api/schema";
import { Fact, Facts, Panel } from "../parts/page";
import { When } from "../parts/when";
import { words } from "../words";
import { FindingActs } from "./finding-acts";
import { Level, Seen } from "./finding-columns";

const W = words.findings;

export function OneFinding({ finding }: { finding: FindingStatus }) {
  const isSeen = finding.acked_by !== null || finding.silenced_until !== null;
  return (
    <Panel title={finding.title} aside={<Level finding={finding} />} actions={<FindingActs finding={finding} />}>
      <div className="grid xl:grid-cols-2">
        <div className="px-4 py-3">
          <p className="m-0 font-[550] wrap-anywhere">{finding.evidence}</p>
          <p className="mt-2 mb-0 text-soft">{finding.about}</p>
          <p className="mt-2 mb-0">{finding.remedy}. <a className="text-leased underline underline-offset-2" href={`${config.base}/runbooks/${finding.runbook}`}>{W.runbook}</a></p>
        </div>
        <div className="border-line-soft max-xl:border-t xl:border-l">
          <Facts>
            <Fact name={W.name}><span className="mono" title={finding.id}>{finding.id}</span></Fact>
            {finding.queue !== null && <Fact name={W.queue}><Link className="text-ink" to="/queues/$name" params={{ name: finding.queue }}>{finding.queue}</Link></Fact>}
            {finding.message_id !== null && <Fact name={W.message}><Link className="mono text-ink" to="/messages/$id" params={{ id: finding.message_id }}>{finding.message_id}</Link></Fact>}
            <Fact name={W.since}><When at={finding.since} /></Fact>
            {finding.cleared_at !== null && <Fact name={W.clearedAt}><When at={finding.cleared_at} /></Fact>}
            {isSeen && <Fact name={W.who}><Seen finding={finding} />{finding.silenced_by && `, ${W.silencedBy} ${finding.silenced_by}`}</Fact>}
          </Facts>
        </div>
      </div>
    </Panel>
  );
}
