// A choice of one from a list, the same in every browser.
import type { ReactNode, SelectHTMLAttributes } from "react";
import { Icon } from "./icon";

export function Select({ children, className = "", ...more }: SelectHTMLAttributes<HTMLSelectElement> & { children: ReactNode }) {
  return (
    <span className={`relative inline-flex ${className}`}>
      <select className="field w-full appearance-none pr-8!" {...more}>{children}</select>
      <span className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-faint"><Icon name="down" size={12} /></span>
    </span>
  );
}
