// The group of a message: how far it is, and the way to it.
import { Link } from "@tanstack/react-router";
import { count } from "../format/number";
import { GroupWord, MemberBar } from "../groups/member-bar";
import { Panel } from "../parts/page";
import { words } from "../words";
import type { ExactDetail } from "./detail";

const W = words.group;

export function GroupPanel({ exact: { detail } }: { exact: ExactDetail }) {
  const group = detail.group;
  if (!group) return null;
  return (
    <Panel title={group.is_last ? W.follows : W.member} aside={<GroupWord state={group.state} />}>
      <Link to="/groups/$id" params={{ id: group.id }} className="flex flex-col gap-2 px-4 py-3 text-ink no-underline hover:bg-hover">
        <span className="mono truncate text-soft" title={group.id}>{group.id}</span>
        <MemberBar total={group.total} completed={group.ended - group.failed} dead={group.failed} cancelled={0} />
        <span className="text-soft">{W.ended(count(group.ended), group.total)}{group.failed > 0 && <>, <span className="text-dead">{W.failedShort(count(group.failed))}</span></>}</span>
      </Link>
    </Panel>
  );
}
