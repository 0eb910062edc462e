// A field that filters as one types; the address follows a moment later, so that typing stays quick.
import { useEffect, useRef, useState } from "react";
import { Icon } from "./icon";

const SETTLE_MS = 250;

export function SearchField({ label, value, onChange, wide }: { label: string; value: string; onChange: (value: string) => void; wide?: boolean }) {
  const [draft, setDraft] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    if (value !== sent.current) {
      sent.current = value;
      setDraft(value);
    }
  }, [value]);
  useEffect(() => {
    if (draft === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = draft;
      onChange(draft);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [draft, onChange]);
  return (
    <label className={`relative ${wide ? "min-w-52 flex-1" : "w-60 max-w-full max-sm:w-48"}`}>
      <span className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"><Icon name="search" /></span>
      <input
        data-search className="field w-full pl-8" type="search" aria-label={label} placeholder={label} value={draft} spellCheck={false} autoComplete="off"
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") (draft ? setDraft("") : event.currentTarget.blur());
          if (event.key === "Enter") {
            sent.current = draft;
            onChange(draft);
          }
        }}
      />
    </label>
  );
}
