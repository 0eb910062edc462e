// One filter: a chip that opens to a field, with what is there already to choose from.
import { useEffect, useId, useRef, useState } from "react";
import { words } from "../words";
import { Icon } from "./icon";

export function FilterChip({ name, value, options = [], onChange, isAdded }: { name: string; value: string | undefined; options?: readonly string[]; onChange: (value: string | undefined) => void; isAdded?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const [draft, setDraft] = useState(value ?? "");
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    if (isOpen) input.current?.select();
  }, [isOpen]);
  const done = (next: string) => {
    setOpen(false);
    onChange(next.trim() || undefined);
  };
  if (isOpen) {
    return (
      <form className="chip py-0! pr-1!" onSubmit={(event) => { event.preventDefault(); done(draft); }}>
        <label htmlFor={id}>{name}</label>
        <input
          ref={input} id={id} list={`${id}-list`} value={draft} autoFocus autoComplete="off" spellCheck={false}
          className="w-40 min-w-0 rounded-full border-0 bg-transparent px-1 py-0.5 text-[12px] text-ink outline-none"
          onChange={(event) => {
            setDraft(event.target.value);
            if (options.includes(event.target.value) && !(event.nativeEvent as InputEvent).inputType) done(event.target.value);
          }}
          onBlur={() => done(draft)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              event.stopPropagation();
              setDraft(value ?? "");
              setOpen(false);
            }
          }}
        />
        <datalist id={`${id}-list`}>{options.map((one) => <option key={one} value={one} />)}</datalist>
      </form>
    );
  }
  if (value === undefined) {
    return <button type="button" className={`chip ${isAdded ? "add" : ""}`} onClick={() => { setDraft(""); setOpen(true); }}>{isAdded ? `+ ${name}` : <>{name} <b>{words.words.any}</b></>}</button>;
  }
  return (
    <span className="chip border-faint! pr-1!">
      <button type="button" className="flex min-w-0 gap-1.5" onClick={() => { setDraft(value); setOpen(true); }}>{name} <b className="max-w-60 truncate">{value}</b></button>
      <button type="button" className="rounded-full p-0.5 hover:bg-hover" aria-label={words.words.removeFilter(name)} onClick={() => onChange(undefined)}><Icon name="close" size={12} /></button>
    </span>
  );
}
