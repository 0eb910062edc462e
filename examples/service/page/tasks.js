// The tasks of one client. One stream brings the list, and then each change; every task that changes is drawn anew.
import { draw } from "./row.js"

const here = location.pathname.replace(/\/$/, "")
const find = (id) => document.getElementById(id)
const tasks = new Map()
const rows = new Map()
const about = {
  ingest: "Cuts a document into passages and makes them searchable.",
  summarize: "Says in two sentences what a document says.",
  agent: "Answers from the documents that were ingested.",
}

find("client").textContent = here.split("/").pop()

// --- what comes ---------------------------------------------------------------------------------------------

const source = new EventSource(`${here}/events`)
source.onopen = () => showLive(true)
source.onerror = () => showLive(false)
source.onmessage = (event) => take(JSON.parse(event.data).toReversed())

function take(changed) {
  for (const news of changed) {
    const known = tasks.get(news.task_id)
    // An ending is the last word: what was seen of the task before it may arrive after it.
    if (known?.ended_at && !news.ended_at) continue
    tasks.set(news.task_id, { ...known, ...news })
    show(news.task_id)
  }
  showFigures()
}

function showLive(isLive) {
  find("live").textContent = isLive ? "live" : "reconnecting"
  find("live").classList.toggle("is-live", isLive)
}

function show(id) {
  let row = rows.get(id)
  if (!row) {
    row = find("row").content.firstElementChild.cloneNode(true)
    row.querySelector(".cancel").addEventListener("click", () => cancel(id))
    rows.set(id, row)
    find("tasks").prepend(row)
  }
  draw(row, tasks.get(id))
}

function showFigures() {
  const count = new Map()
  for (const { status } of tasks.values()) count.set(status, (count.get(status) ?? 0) + 1)
  const words = ["running", "retrying", "queued", "completed", "failed", "cancelled"]
  find("figures").textContent = words.filter((one) => count.has(one)).map((one) => `${count.get(one)} ${one}`).join(" · ")
  find("empty").hidden = tasks.size > 0
}

// Ages grow while nothing comes.
setInterval(() => { for (const [id, row] of rows) draw(row, tasks.get(id)) }, 10_000)

// --- what is asked ------------------------------------------------------------------------------------------

async function ask(method, path, body, type = "application/json") {
  const answer = await fetch(`${here}${path}`, { method, body, headers: body === undefined ? {} : { "Content-Type": type } })
  if (answer.status === 401) location.replace("/")
  if (!answer.ok) {
    const { detail } = await answer.json().catch(() => ({ detail: `the server answered ${answer.status}` }))
    throw new Error(typeof detail === "string" ? detail : detail.map((one) => one.msg).join("; "))
  }
  return answer.status === 204 ? null : answer.json()
}

/** Do it, and show what is wrong if it fails. */
async function trying(act) {
  const problem = document.querySelector(".problem")
  problem.hidden = true
  try {
    await act()
  } catch (error) {
    problem.textContent = error.message
    problem.hidden = false
  }
}

const kind = () => document.querySelector("[name=kind]:checked").value
const cancel = (id) => trying(() => ask("POST", `/tasks/${id}/cancel`))

function showForm() {
  const isQuestion = kind() === "agent"
  find("on-document").hidden = isQuestion
  find("on-question").hidden = !isQuestion
  find("about").textContent = about[kind()]
}

async function listDocuments(chosen) {
  const names = await ask("GET", "/documents")
  find("document").replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)))
}

find("new").addEventListener("change", showForm)
find("new").addEventListener("submit", (event) => {
  event.preventDefault()
  const given = kind() === "agent" ? { question: find("question").value } : { filename: find("document").value }
  trying(async () => {
    const row = await ask("POST", "/tasks", JSON.stringify({ task_type: kind(), ...given }))
    if (!tasks.has(row.task_id)) take([row])
    find("question").value = ""
  })
})
find("file").addEventListener("change", () => trying(async () => {
  const file = find("file").files[0]
  if (!file) return
  await ask("PUT", `/documents/${encodeURIComponent(file.name)}`, file, "application/octet-stream")
  await listDocuments(file.name)
  find("file").value = ""
}))
find("sign-out").addEventListener("click", async () => {
  await ask("DELETE", "/session")
  location.replace("/")
})

showForm()
trying(() => listDocuments())
