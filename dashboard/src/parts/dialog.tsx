// A dialog on the platform's own: it traps focus, closes with Escape, and gives focus back.
import { useEffect, useId, useRef, type ReactNode } from "react";
import { words } from "../words";
import { Icon } from "./icon";

export function Dialog({ title, onClose, children, footer, wide, busy }: { title: ReactNode; onClose: () => void; children: ReactNode; footer?: ReactNode; wide?: boolean; busy?: boolean }) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={element}
      className={`sheet ${wide ? "wide" : ""}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!busy) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current && !busy) onClose();
      }}
    >
      <header className="flex items-center gap-3 border-b border-line-soft px-5 py-3">
        <h2 id={id} className="m-0 min-w-0 flex-1 truncate text-[15px]">{title}</h2>
        <button type="button" className="button quiet icon" onClick={onClose} aria-label={words.words.close} disabled={busy}>
          <Icon name="close" />
        </button>
      </header>
      <div className="min-h-0 flex-1 overflow-auto px-5 py-4">{children}</div>
      {footer && <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line-soft px-5 py-3">{footer}</footer>}
    </dialog>
  );
}
