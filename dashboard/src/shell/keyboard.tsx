// The keyboard: `?` lists it, `/` searches, `g l` goes to the leases. Keys do nothing while somebody types.
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { Dialog } from "../parts/dialog";
import { words } from "../words";
import { PAGES } from "./navigation";
import { toggleDensity } from "./density";
import { toggleTheme } from "./theme";

const SEQUENCE_MS = 1200;

export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

export function Keyboard() {
  const [isHelpOpen, setHelpOpen] = useState(false);
  const navigate = useNavigate();
  const went = useRef(0);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      if (event.timeStamp - went.current < SEQUENCE_MS) {
        went.current = 0;
        const page = PAGES.find((one) => one.key === event.key);
        if (page) {
          event.preventDefault();
          void navigate({ to: page.to });
          return;
        }
      }
      switch (event.key) {
        case "?":
          setHelpOpen(true);
          break;
        case "g":
          went.current = event.timeStamp;
          break;
        case "/": {
          const search = document.querySelector<HTMLInputElement>("#content [data-search]");
          if (search) search.focus();
          else void navigate({ to: "/messages" }).then(() => setTimeout(() => document.querySelector<HTMLInputElement>("#content [data-search]")?.focus(), 150));
          break;
        }
        case "t":
          toggleTheme();
          break;
        case "r":
          toggleDensity();
          break;
        case "j":
        case "k":
          moveRow(event.key === "j" ? 1 : -1);
          break;
        default:
          return;
      }
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [navigate]);
  return isHelpOpen ? <Help onClose={() => setHelpOpen(false)} /> : null;
}

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("#content [data-row]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function Help({ onClose }: { onClose: () => void }) {
  const everywhere: readonly (readonly [string, string])[] = [["?", words.keys.help], ["/", words.keys.search], ["Esc", words.keys.close], ["t", words.keys.theme], ["r", words.keys.density]];
  const lists: readonly (readonly [string, string])[] = [["j  k  ↓  ↑", words.keys.move], ["Enter", words.keys.open], ["p", words.keys.pause]];
  return (
    <Dialog title={words.keys.title} onClose={onClose}>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <div className="flex flex-col gap-4">
          <Keys title={words.keys.groups.everywhere} rows={everywhere} />
          <Keys title={words.keys.groups.lists} rows={lists} />
        </div>
        <Keys title={words.keys.groups.go} rows={PAGES.map((page) => [`g ${page.key}`, words.nav[page.name]] as const)} />
      </div>
    </Dialog>
  );
}

function Keys({ title, rows }: { title: string; rows: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h3 className="m-0 mb-1.5 text-[12px] text-soft">{title}</h3>
      <dl className="m-0 grid grid-cols-[112px_1fr] gap-y-1.5">
        {rows.map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt className="flex items-center gap-1">{keys.split(/ +/).map((key) => <kbd key={key} className="mono min-w-5 rounded border border-line bg-ground px-1.5 text-center text-[11px] leading-5">{key}</kbd>)}</dt>
            <dd className="m-0">{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
