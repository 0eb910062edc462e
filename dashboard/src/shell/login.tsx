// Log in with an access token; the browser then keeps a cookie.
import { useEffect, useState, type FormEvent } from "react";
import { act } from "../api/client";
import { ApiProblem } from "../api/problem";
import { CopyButton } from "../parts/copy";
import { sentence } from "../parts/states";
import { words } from "../words";
import { Brand } from "./brand";

export function Login({ onDone }: { onDone: () => void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${words.login.title} · ${words.product}`;
  }, []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await act("POST", "/session", { token: token.trim() });
      onDone();
    } catch (error) {
      setProblem(error instanceof ApiProblem && error.status === 401 ? words.login.wrong : sentence((error as Error).message));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="flex min-h-dvh items-center justify-center p-4">
      <form onSubmit={submit} className="panel flex w-full max-w-104 flex-col gap-3 p-7 shadow-(--shadow)">
        <Brand />
        <h1 className="m-0 mt-3 text-[17px]">{words.login.title}</h1>
        <p className="m-0 text-soft">{words.login.body}</p>
        <p className="mono m-0 flex items-center justify-between gap-2 rounded-md border border-line bg-ground py-1 pr-1 pl-3">
          <span className="min-w-0 truncate">{words.login.command}</span>
          <CopyButton text={words.login.command} />
        </p>
        <label className="mt-2 flex flex-col gap-1">
          <span className="text-[12px] text-soft">{words.login.token}</span>
          <input className="field mono" type="password" autoComplete="current-password" spellCheck={false} autoFocus required value={token} placeholder={words.login.placeholder} aria-invalid={problem ? true : undefined} aria-describedby="login-problem" onChange={(event) => setToken(event.target.value)} />
        </label>
        <p id="login-problem" role="alert" className={`m-0 text-dead ${problem ? "" : "hidden"}`}>{problem}</p>
        <button type="submit" className="button main" disabled={isBusy || !token.trim()}>{words.login.button}</button>
        <p className="m-0 text-[12px] text-faint">{words.login.kept}</p>
      </form>
    </main>
  );
}
