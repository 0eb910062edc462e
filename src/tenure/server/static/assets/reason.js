function e(e,t=``){let n=(e??``).split(`
`,1)[0].replace(/^gave up after \d+ of \d+ attempts?; the last one: /,``);return t&&n.startsWith(`${t}: `)?n.slice(t.length+2):n}export{e as t};