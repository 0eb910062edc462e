import { words } from "../words";

export function Brand() {
  return (
    <span className="flex items-center gap-2 text-[15px] font-[650] tracking-[-0.01em]">
      <svg viewBox="0 0 32 32" width="18" height="18" aria-hidden="true">
        <circle cx="16" cy="16" r="11" fill="none" stroke="currentColor" strokeWidth="4.5" strokeLinecap="round" strokeDasharray="52 18" transform="rotate(-60 16 16)" />
        <circle cx="24.2" cy="7.8" r="2.8" fill="var(--leased)" />
      </svg>
      {words.product}
    </span>
  );
}
