// Draws one task: what it is, where it is, what came of it. Texts of clients go in as text, never as HTML.
const kinds = { ingest: "Ingest", summarize: "Summarize", agent: "Ask" }
const open = ["queued", "running", "retrying"]

export function draw(row, task) {
  const part = (name) => row.querySelector(`.${name}`)
  row.dataset.status = task.status
  row.dataset.id = task.task_id
  part("title").textContent = task.payload?.filename ?? task.payload?.question ?? ""
  part("detail").textContent = [
    kinds[task.task_type],
    age(task.submitted_at),
    task.attempt > 1 ? `attempt ${task.attempt}` : "",
  ].filter(Boolean).join(" · ")
  part("status").textContent = task.status
  part("cancel").hidden = !open.includes(task.status)

  const isRunning = task.status === "running"
  part("running").hidden = !isRunning
  part("note").textContent = task.note ?? ""
  if (isRunning && task.progress != null) part("running").firstElementChild.value = task.progress
  if (isRunning && task.progress == null) part("running").firstElementChild.removeAttribute("value")

  part("outcome").replaceChildren(...outcome(task))
}

function outcome({ status, result, error }) {
  if (status === "failed" || status === "retrying") return error ? [element("p", error, "error")] : []
  if (status !== "completed" || !result) return []
  const text = result.answer ?? result.summary ?? `${result.passages} passages are searchable.`
  return [element("p", text), ...(result.sources ?? []).map((name) => element("span", name, "source"))]
}

function element(name, text, style = "") {
  const made = document.createElement(name)
  made.textContent = text
  made.className = style
  return made
}

function age(moment) {
  const seconds = Math.max(0, Math.round(Date.now() / 1000 - moment))
  if (seconds < 10) return "just now"
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  return new Date(moment * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })
}
