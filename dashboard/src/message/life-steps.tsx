// Everything that happened to a message, a line each.
import type { ReactNode } from "react";
import type { Step } from "../api/schema";
import { duration } from "../format/duration";
import { exactTime, dayOf, isSameDay, utc } from "../format/moment";
import { shortOwner } from "../format/names";
import { lastReason } from "../format/reason";
import { words } from "../words";

const DOT: Record<string, string> = {
  completed: "bg-done-fill", duplicate: "bg-done-fill", failed: "bg-soon", crashed: "bg-soon", lost: "bg-soon", returned: "bg-soon", lease_lost: "bg-soon", late_settle: "bg-soon",
  dead: "bg-dead-fill", cancelled: "bg-cancelled", snoozed: "bg-delayed", redriven: "bg-leased-fill", given_back: "bg-ready",
};

export function LifeSteps({ steps, children }: { steps: readonly Step[]; children?: ReactNode }) {
  return (
    <ol className="m-0 list-none px-4 pt-1 pb-3">
      {steps.map((step, place) => (
        <LifeStep key={place} at={step.at} dot={DOT[step.what] ?? "bg-ready"} name={words.message.steps[step.what] ?? step.what} beside={besideOf(step)} day={place === 0 || !isSameDay(steps[place - 1]!.at, step.at)}>
          {textOf(step)}
        </LifeStep>
      ))}
      {children}
    </ol>
  );
}

export function LifeStep({ at, dot, name, beside, children, day }: { at: number; dot: string; name: string; beside?: string; children?: ReactNode; day?: boolean }) {
  return (
    <li className="grid grid-cols-[92px_12px_minmax(0,1fr)_auto] items-baseline gap-x-2.5 py-[5px] text-[13px] @max-[640px]:grid-cols-[84px_10px_minmax(0,1fr)]">
      <time className="text-right text-[12px] text-faint tabular-nums" title={`${day ? dayOf(at) : ""} ${utc(at)}`.trim()}>{exactTime(at)}</time>
      <span className={`mt-1 size-[9px] self-start rounded-full ${dot}`} aria-hidden="true" />
      <span className="min-w-0 wrap-anywhere"><b className="font-[560]">{name}</b> <span className="text-soft">{children}</span></span>
      <span className="mono whitespace-nowrap text-soft @max-[640px]:col-start-3">{beside}</span>
    </li>
  );
}

function textOf(step: Step): string {
  const parts: string[] = [];
  if (step.by) parts.push(words.message.by(step.by));
  else if (step.owner) parts.push(words.message.on(shortOwner(step.owner)));
  if (step.triggered_by && step.by) parts.push(words.message.through(step.triggered_by));
  if (step.act && step.act !== step.what) parts.push(step.act);
  if (step.attempt && step.what !== "sent") parts.push(words.message.attemptShort(step.attempt));
  if (step.cause) parts.push(words.message.cameAgain[step.cause] ?? step.cause);
  const said = step.reason?.text || step.reason?.code;
  return [parts.join(", "), said ? reasonOf(step, said) : ""].filter(Boolean).join(" — ");
}

function besideOf(step: Step): string {
  const parts: string[] = [];
  if (step.seconds !== undefined && step.seconds !== null) parts.push(words.message.ran(duration(step.seconds)));
  if (step.after_seconds) parts.push(words.message.again(duration(step.after_seconds)));
  return parts.join(" · ");
}

function reasonOf(step: Step, said: string): string {
  const error = step.reason?.error ?? "";
  return `${error ? `${error}: ` : ""}${lastReason(said, error).slice(0, 300)}`;
}
