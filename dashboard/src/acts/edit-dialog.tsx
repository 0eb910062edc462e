// Edit and redrive: another payload, checked by the server and shown as a difference before anything is sent.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { laidOutText } from "../api/exact-json";
import { ApiProblem } from "../api/problem";
import type { MessageDetail } from "../api/schema";
import { shortId } from "../format/names";
import { Dialog } from "../parts/dialog";
import { Select } from "../parts/select";
import { Redacted, sentence } from "../parts/states";
import { say, sayFailed } from "../parts/toast";
import { words } from "../words";
import type { ExactChange, ExactEdit } from "./exact-edit";
import { editMessage } from "./requests";

export function EditDialog({ detail, body, onClose }: { detail: MessageDetail; body: string | null; onClose: (newId?: string) => void }) {
  const written = body === null ? "{}" : laidOutText(body);
  const [payload, setPayload] = useState(written);
  const [queue, setQueue] = useState(detail.queue);
  const [priority, setPriority] = useState(String(detail.message?.priority ?? 5));
  const [checked, setChecked] = useState<ExactEdit | null>(null);
  const problem = jsonProblem(payload);
  const edit = (dryRun: boolean) =>
    editMessage(detail.id, {
      // Left as it was, it is sent as it was, to the last byte.
      payload: payload === written ? null : payload,
      queue: queue === detail.queue ? undefined : queue.trim(),
      priority: Number(priority) === (detail.message?.priority ?? 5) ? undefined : Number(priority),
      dryRun,
    });
  const checking = useMutation({ mutationFn: () => edit(true), onSuccess: setChecked });
  const sending = useMutation({
    mutationFn: () => edit(false),
    onSuccess: ({ result }) => {
      say(words.edit.sent(shortId(result.new_id ?? "")));
      onClose(result.new_id ?? undefined);
    },
    onError: sayFailed,
  });
  const changed = <Value,>(set: (value: Value) => void) => (value: Value) => {
    setChecked(null);
    checking.reset();
    set(value);
  };
  return (
    <Dialog
      wide
      title={words.edit.title}
      onClose={() => onClose()}
      busy={sending.isPending}
      footer={
        <>
          <button type="button" className="button" onClick={() => onClose()}>{words.words.back}</button>
          {checked ? (
            <button type="button" className="button main" disabled={sending.isPending} onClick={() => sending.mutate()} autoFocus>{words.edit.send}</button>
          ) : (
            <button type="button" className="button main" disabled={!!problem || checking.isPending} onClick={() => checking.mutate()}>{words.edit.check}</button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p className="m-0 text-soft">{words.edit.body}</p>
        <label className="flex flex-col gap-1">
          <span className="text-[12px] text-soft">{words.edit.payload}</span>
          <textarea className="field mono min-h-52 resize-y" spellCheck={false} value={payload} aria-invalid={!!problem || undefined} aria-describedby="edit-problem" onChange={(event) => changed(setPayload)(event.target.value)} />
        </label>
        <p id="edit-problem" role="alert" className={`m-0 text-dead ${problem || checking.error ? "" : "hidden"}`}>
          {problem ? `${words.edit.invalid} ${problem}` : checking.error instanceof ApiProblem ? sentence(checking.error.message) : checking.error ? String(checking.error) : ""}
        </p>
        <div className="flex flex-wrap gap-3">
          <label className="flex min-w-56 flex-1 flex-col gap-1">
            <span className="text-[12px] text-soft">{words.edit.queue}</span>
            <input className="field" value={queue} onChange={(event) => changed(setQueue)(event.target.value)} />
          </label>
          <label className="flex w-24 flex-col gap-1">
            <span className="text-[12px] text-soft">{words.edit.priority}</span>
            <Select value={priority} onChange={(event) => changed(setPriority)(event.target.value)}>{Array.from({ length: 10 }, (_, one) => <option key={one}>{one}</option>)}</Select>
          </label>
        </div>
        {checked && <Difference edit={checked} hasPayload={payload !== written} />}
      </div>
    </Dialog>
  );
}

function jsonProblem(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

function Difference({ edit: { result, changes }, hasPayload }: { edit: ExactEdit; hasPayload: boolean }) {
  return (
    <section role="status">
      <h3 className="m-0 mb-1.5 text-[13px]">{words.edit.changes}</h3>
      {hasPayload && <p className="m-0 mb-2 text-[12px] text-soft">{result.checked ? words.edit.checked : words.edit.unchecked}</p>}
      {changes.length === 0 ? (
        <p className="m-0 text-soft">{words.edit.same}</p>
      ) : (
        <div className="panel mono max-h-72 overflow-auto" tabIndex={0} role="region" aria-label={words.edit.changes}>
          {changes.map((change) => <OneChange key={change.path} change={change} redacted={result.redacted} />)}
        </div>
      )}
    </section>
  );
}

function OneChange({ change, redacted }: { change: ExactChange; redacted: boolean }) {
  return (
    <div className="border-b border-line-soft px-3 py-1.5 last:border-0">
      <div className="text-soft">{change.path}</div>
      {redacted && <Redacted />}
      {change.before !== null && <div className="wrap-anywhere text-dead"><span aria-hidden="true">− </span><span className="sr-only">{words.edit.before} </span>{change.before}</div>}
      {change.after !== null && <div className="wrap-anywhere text-done"><span aria-hidden="true">+ </span><span className="sr-only">{words.edit.after} </span>{change.after}</div>}
    </div>
  );
}
