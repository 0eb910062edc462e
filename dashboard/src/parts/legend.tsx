// What the hues of a plot mean.

export function Legend({ of }: { of: readonly { name: string; hue: string; isRare?: boolean }[] }) {
  return (
    <span className="flex flex-wrap gap-x-3.5 text-[12px] text-soft">
      {of.map((one) => <span key={one.name} className="flex items-center gap-1.5"><span className={`inline-block rounded-[1px] ${one.isRare ? "h-2.5 w-[5px]" : "h-0.5 w-3"}`} style={{ background: `var(${one.hue})` }} />{one.name}</span>)}
    </span>
  );
}
