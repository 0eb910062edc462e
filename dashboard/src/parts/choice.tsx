// A choice of few, as buttons side by side.

export function Choice<Value extends string>({ label, value, options, onChange }: { label: string; value: Value | ""; options: readonly (readonly [Value, string])[]; onChange: (value: Value) => void }) {
  return (
    <div role="group" aria-label={label} className="inline-flex rounded-[7px] border border-line bg-panel p-px">
      {options.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)} className="min-h-[24px] rounded-md px-2.5 text-[12px] text-soft hover:text-ink aria-pressed:bg-hover aria-pressed:font-[550] aria-pressed:text-ink">{text}</button>
      ))}
    </div>
  );
}
