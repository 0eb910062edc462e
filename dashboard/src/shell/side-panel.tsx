// Details beside a list, with their own address (?open=ID): the list stays where it is.
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef } from "react";
import { Icon } from "../parts/icon";
import { LoadingRows } from "../parts/states";
import { words } from "../words";

const MessageView = lazy(() => import("../message/message-view"));

export function SidePanel() {
  const { open } = useSearch({ strict: false }) as { open?: string };
  const { id } = useParams({ strict: false }) as { id?: string };
  const navigate = useNavigate();
  const panel = useRef<HTMLElement>(null);
  const before = useRef<HTMLElement | null>(null);
  const isOpen = open !== undefined && open !== id;
  useEffect(() => {
    if (!isOpen) return;
    before.current = document.activeElement as HTMLElement | null;
    panel.current?.focus({ preventScroll: true });
    return () => before.current?.focus?.({ preventScroll: true });
  }, [isOpen]);
  const close = () => void navigate({ to: ".", search: (search: Record<string, unknown>) => ({ ...search, open: undefined }), replace: true });
  useEffect(() => {
    if (!isOpen) return;
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
  if (!isOpen) return null;
  return (
    <aside ref={panel} tabIndex={-1} aria-label={words.columns.message} className="fixed inset-y-0 right-0 z-20 flex w-[min(600px,100vw)] flex-col border-l border-line bg-ground shadow-(--shadow) outline-none xl:static xl:w-[clamp(440px,38vw,640px)] xl:shadow-none">
      <div className="flex items-center justify-end gap-1 border-b border-line-soft px-3 py-1.5">
        <Link to="/messages/$id" params={{ id: open }} className="button quiet"><Icon name="expand" />{words.words.fullPage}</Link>
        <button type="button" className="button quiet icon" aria-label={words.words.close} onClick={close}><Icon name="close" /></button>
      </div>
      <div className="@container min-h-0 flex-1 overflow-y-auto px-4 pt-3 pb-8">
        <Suspense fallback={<LoadingRows />}><MessageView key={open} id={open} /></Suspense>
      </div>
    </aside>
  );
}

/** Opens a message beside the list that it stands in. */
export function useOpenMessage(): { open: (id: string) => void; openId: string | undefined } {
  const navigate = useNavigate();
  const { open } = useSearch({ strict: false }) as { open?: string };
  return {
    open: (id) => void navigate({ to: ".", search: (search: Record<string, unknown>) => ({ ...search, open: id }) }),
    openId: open,
  };
}
