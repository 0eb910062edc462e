// What stands around every page: the rail, the banner, the side panel, the keyboard, the toasts.
import { Link, Outlet, useRouter, useRouterState, type ErrorComponentProps } from "@tanstack/react-router";
import { Suspense, useEffect, useRef, useState } from "react";
import { Icon } from "../parts/icon";
import { Page, Panel } from "../parts/page";
import { Empty, LoadingRows, TroubleState } from "../parts/states";
import { Toasts } from "../parts/toast";
import { words } from "../words";
import { AwayBanner } from "./banner";
import { Brand } from "./brand";
import { Keyboard } from "./keyboard";
import { Navigation } from "./navigation";
import { SidePanel } from "./side-panel";

export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const content = useRef<HTMLElement>(null);
  const lastPath = useRef(path);
  useEffect(() => {
    if (lastPath.current === path) return;
    lastPath.current = path;
    content.current?.scrollTo(0, 0);
    // Screen readers and the keyboard begin at the new page's title.
    content.current?.querySelector("h1")?.focus({ preventScroll: true });
  }, [path]);
  return (
    <div className="grid h-dvh grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)] md:grid-cols-[var(--rail)_minmax(0,1fr)_auto] md:grid-rows-[minmax(0,1fr)]">
      <a href="#content" className="button sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-50">{words.nav.skip}</a>
      <div className="hidden min-h-0 border-r border-line md:block"><Navigation /></div>
      <header className="flex items-center justify-between border-b border-line py-1.5 pr-2 pl-4 md:hidden">
        <Link to="/" className="text-ink no-underline"><Brand /></Link>
        <button type="button" className="button quiet icon size-10" aria-label={words.nav.open} aria-expanded={isMenuOpen} onClick={() => setMenuOpen(true)}><Icon name="menu" size={18} /></button>
      </header>
      {isMenuOpen && <Menu onClose={() => setMenuOpen(false)} />}
      <main id="content" ref={content} tabIndex={-1} className="relative min-h-0 overflow-x-hidden overflow-y-auto outline-none">
        <AwayBanner />
        <Suspense fallback={<LoadingRows rows={12} />}>
          <Outlet />
        </Suspense>
      </main>
      <SidePanel />
      <Keyboard />
      <Toasts />
    </div>
  );
}

/** On a phone the rail is a sheet. */
function Menu({ onClose }: { onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current!.showModal();
  }, []);
  return (
    <dialog ref={element} onClose={onClose} onMouseDown={(event) => event.target === element.current && onClose()} aria-label={words.nav.main} className="m-0 h-dvh max-h-none w-64 border-0 border-r border-line bg-ground p-0 backdrop:bg-black/40">
      <Navigation onGo={onClose} />
    </dialog>
  );
}

export function NotFound() {
  return (
    <Page title={words.states_.missing}>
      <Panel>
        <Empty title={words.states_.missing}>{words.states_.missingMore}</Empty>
        <p className="mt-0 pb-8 text-center"><Link to="/" className="button">{words.states_.toOverview}</Link></p>
      </Panel>
    </Page>
  );
}

/** A page that could not be shown. After an update of the server a part of the old page may be gone: it is loaded anew. */
export function PageTrouble({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isOld = /dynamically imported module|Importing a module script|error loading/i.test(String((error as Error | undefined)?.message));
  return (
    <div className="p-6">
      <Panel>
        {isOld ? (
          <div className="flex flex-col items-center gap-3 py-12" role="alert">
            <p className="m-0 font-semibold">{words.states_.reloadNew}</p>
            <button type="button" className="button main" onClick={() => location.reload()}>{words.states_.reload}</button>
          </div>
        ) : (
          <TroubleState error={error} retry={() => { reset(); void router.invalidate(); }} />
        )}
      </Panel>
    </div>
  );
}
