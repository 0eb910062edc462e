// What people and workers did, as marks in a plot over time. Pure.
import type { ActEntry } from "../api/schema";
import { plural } from "../format/number";
import { ownerName } from "../format/names";
import { words } from "../words";

export interface Mark {
  at: number;
  text: string;
}

const W = words.overview;
/** Acts that change what a plot shows. Looks, such as at a stack, are none. */
const ACTS = new Set(["paused", "resumed", "purged", "redriven", "deleted", "cancelled", "moved", "edited", "schedule_paused", "schedule_resumed", "schedule_run", "worker_drained", "worker_stopped"]);
/** Workers that start within so many seconds are one deployment. */
const TOGETHER_SECONDS = 120;

export function actMarks(acts: readonly ActEntry[]): Mark[] {
  return acts.filter((one) => ACTS.has(one.kind)).map((one) => ({ at: one.at, text: actText(one) }));
}

function actText({ kind, by, queue, count, data }: ActEntry): string {
  const who = by.split("@")[0]!;
  const what = words.events.act[kind] ?? words.events.kind[kind] ?? kind.replaceAll("_", " ");
  const about = queue ?? String(data["schedule"] ?? data["worker"] ?? "");
  const subject = count > 1 ? plural(count, "message") : about;
  return `${subject} ${what}${who ? ` ${W.by(who)}` : ""}`.trim();
}

interface Started {
  id: string;
  started_at: number;
  version?: string | null;
}

/** Where workers started: those of a new version by its name, others by theirs. */
export function workerMarks(workers: readonly Started[]): Mark[] {
  const marks: Mark[] = [];
  const seen = new Set<string>();
  let group: Started[] = [];
  const close = () => {
    if (!group.length) return;
    const fresh = group.map((one) => one.version).find((one) => one && !seen.has(one));
    // The first version of all is no change of versions.
    const isNew = !!fresh && seen.size > 0;
    for (const one of group) if (one.version) seen.add(one.version);
    const names = [...new Set(group.map((one) => ownerName(one.id)))];
    marks.push({ at: group[0]!.started_at, text: isNew ? W.version(fresh) : names.length === 1 ? W.workersJoined(names[0]!) : W.manyJoined(group.length) });
    group = [];
  };
  for (const one of [...workers].sort((first, second) => first.started_at - second.started_at)) {
    if (group.length && one.started_at - group[0]!.started_at > TOGETHER_SECONDS) close();
    group.push(one);
  }
  close();
  return marks;
}

/** In the order of time; those of one step are one mark, so that no label lies on another. */
export function gathered(marks: readonly Mark[], step: number): Mark[] {
  const found: Mark[] = [];
  for (const mark of [...marks].sort((one, other) => one.at - other.at)) {
    const last = found[found.length - 1];
    if (last && mark.at - last.at < step) last.text = `${last.text}, ${mark.text}`;
    else found.push({ ...mark });
  }
  return found;
}
