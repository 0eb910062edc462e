// Signs in by a typed key, or by the one behind the # of a link: that part of an address is never sent to a server's log.
const form = document.querySelector("form")
const problem = document.querySelector(".problem")

async function signIn(key) {
  const answer = await fetch("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  })
  if (answer.ok) {
    location.replace(`/c/${(await answer.json()).client}`)
  } else {
    problem.textContent = "No client has this key."
    problem.hidden = false
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault()
  signIn(document.querySelector("#key").value)
})

function followLink() {
  if (location.hash.length < 2) return
  const key = location.hash.slice(1)
  history.replaceState(null, "", location.pathname)
  signIn(key)
}

addEventListener("hashchange", followLink)
followLink()
