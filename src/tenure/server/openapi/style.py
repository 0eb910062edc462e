"""The style of the reference page: system font, light and dark, nearly monochrome. Its hash is in the page's policy."""

STYLE = """
:root{color-scheme:light dark;--ink:#16181d;--soft:#5b6472;--line:#e3e6eb;--back:#fff;--rail:#f7f8fa;--code:#f2f4f7;
--link:#1f5fbf;--get:#1f5fbf;--post:#1d7a46;--put:#8a5a00;--delete:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ec;--soft:#9aa4b2;--line:#2b3038;--back:#111418;--rail:#161a20;
--code:#1b2027;--link:#7db0ff;--get:#7db0ff;--post:#6fcf97;--put:#e0b060;--delete:#ff8a80}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;display:grid;grid-template-columns:19rem minmax(0,1fr);background:var(--back);color:var(--ink);
font:14px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:3px}
code,pre,nav li span{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{font-size:.92em;background:var(--code);padding:.1em .35em;border-radius:4px}
nav{position:sticky;top:0;height:100vh;overflow-y:auto;padding:1.25rem 1rem 2rem;background:var(--rail);
border-right:1px solid var(--line);font-size:13px}
.brand{display:block;font-weight:650;font-size:15px;color:var(--ink);margin-bottom:1rem}.brand span{color:var(--soft);
font-weight:400}
nav h2{font-size:11px;letter-spacing:.06em;text-transform:uppercase;margin:1.1rem 0 .3rem}nav h2 a{color:var(--soft)}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:flex;gap:.5rem;align-items:baseline;padding:.18rem .3rem;border-radius:4px;color:var(--ink)}
nav li a:hover{background:var(--code);text-decoration:none}
nav li span{font-size:12px;overflow-wrap:anywhere}
.method{font:600 10px/1.6 ui-monospace,Menlo,Consolas,monospace;letter-spacing:.03em;flex:none;min-width:3.6em}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.delete{color:var(--delete)}
main{padding:2rem clamp(1rem,4vw,3.5rem) 6rem;max-width:62rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 1rem;letter-spacing:-.01em}
main>section>h2{font-size:1.15rem;margin:2.8rem 0 .4rem;padding-bottom:.4rem;border-bottom:1px solid var(--line)}
article{padding:1.1rem 0 1.3rem;border-bottom:1px solid var(--line)}article:last-child{border-bottom:0}
h3{display:flex;flex-wrap:wrap;gap:.6rem;align-items:baseline;font-size:1rem;margin:0 0 .3rem}
h3 a{display:flex;gap:.6rem;align-items:baseline;color:var(--ink);min-width:0}
h3 code{background:none;padding:0;font-weight:600;overflow-wrap:anywhere}h3 .method{font-size:12px;min-width:0}
.scope{margin-left:auto;font:500 11px/1.7 system-ui,sans-serif;color:var(--soft);border:1px solid var(--line);
border-radius:999px;padding:0 .6em}
h4{font-size:11px;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:1rem 0 .35rem}
p{margin:.35rem 0;max-width:48rem}.summary{font-weight:550}
.ok{color:var(--post)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
td{padding:.32rem .9rem .32rem 0;border-top:1px solid var(--line);vertical-align:top}
td:nth-child(1){white-space:nowrap}td:nth-child(2){min-width:8rem}td:nth-child(3){color:var(--soft);white-space:nowrap}
td:nth-child(4){min-width:14rem}
tr:first-child td{border-top:0}
pre{background:var(--code);border-radius:6px;padding:.7rem .9rem;margin:.5rem 0;overflow:auto;max-height:22rem;
font-size:12px;line-height:1.5}
details{margin-top:.5rem;color:var(--soft)}summary{cursor:pointer;font-size:13px}
details ul{margin:.3rem 0;padding-left:1.1rem}
@media (max-width:56rem){body{display:block}nav{position:static;height:auto;max-height:none;border-right:0;
border-bottom:1px solid var(--line)}nav ul{display:none}nav section{display:inline-block;margin-right:.9rem}
nav h2{margin:.2rem 0}.scope{margin-left:0}}
@media print{nav{display:none}body{display:block}pre{max-height:none}}
"""
