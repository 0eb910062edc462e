// What a handler is doing now: its stack, asked of the worker that runs it.
import { useMutation } from "@tanstack/react-query";
import { askStack } from "../acts/requests";
import type { HandlerStack, StackFrame } from "../api/schema";
import { roughly, duration } from "../format/duration";
import { bytes } from "../format/number";
import { shortOwner } from "../format/names";
import { CopyButton } from "../parts/copy";
import { Panel } from "../parts/page";
import { TroubleState } from "../parts/states";
import { TickText } from "../parts/tick";
import { useActs } from "../shell/session";
import { words } from "../words";

export function StackPanel({ id }: { id: string }) {
  const asking = useMutation({ mutationFn: () => askStack(id) });
  const { may, why } = useActs();
  const found = asking.data;
  return (
    <Panel
      title={words.message.doing}
      actions={<>{found && <CopyButton text={() => asText(found)} />}<button type="button" className="button" disabled={!may || asking.isPending} title={why} onClick={() => asking.mutate()}>{words.message.stackNow}</button></>}
    >
      {asking.isPending ? <p role="status" className="breathing m-0 px-4 py-3 text-soft">{words.message.stackAsking}</p>
        : asking.error ? <TroubleState error={asking.error} retry={() => asking.mutate()} />
        : found ? <Found stack={found} />
        : <p className="m-0 px-4 py-3 text-soft">{words.message.stackNone}</p>}
    </Panel>
  );
}

function Found({ stack }: { stack: HandlerStack }) {
  const facts = [shortOwner(stack.owner), stack.memory_bytes === null ? "" : bytes(stack.memory_bytes), stack.runs_in ?? stack.phase].filter(Boolean).join(" · ");
  return (
    <div>
      {/* Said once; the age beside it counts on in silence. */}
      <span role="status" className="sr-only">{words.message.stackRead(stack.stack.frames.length)}</span>
      <p className="m-0 px-4 pt-2.5 text-[12px] text-faint">{facts} · <TickText of={(now) => words.message.stackAsked(roughly(now - stack.taken_at))} /></p>
      {stack.holds && <p className="m-0 px-4 pt-1.5 text-soon-ink">{words.stack.holds[stack.holds]}{stack.holds_seconds ? `, ${duration(stack.holds_seconds)}` : ""}</p>}
      {stack.held_up_by && <p className="m-0 px-4 pt-1.5 text-soon-ink">{words.stack.heldUp(stack.held_up_by)}</p>}
      {stack.note && <p className="m-0 px-4 pt-1.5 text-soft">{stack.note}</p>}
      <pre className="json max-h-96 px-4 py-2.5" tabIndex={0}>
        {stack.stack.frames.map((frame, place) => <Frame key={place} frame={frame} />)}
        {stack.stack.branches.map((branch) => (
          <span key={branch.name}>{`\n${branch.name}\n`}{branch.frames.map((frame, place) => <Frame key={place} frame={frame} />)}</span>
        ))}
      </pre>
    </div>
  );
}

function Frame({ frame }: { frame: StackFrame }) {
  return <span className={frame.kind === "user" ? "" : "text-faint"}>{line(frame)}{"\n"}</span>;
}

const line = (frame: StackFrame) => `${frame.file}:${frame.line ?? "?"} in ${frame.function}`;
const asText = (stack: HandlerStack) => [...stack.stack.frames.map(line), ...stack.stack.branches.flatMap((branch) => ["", branch.name, ...branch.frames.map(line)])].join("\n");
