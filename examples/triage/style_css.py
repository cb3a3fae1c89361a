"""The style sheet of the HTML report, for light and dark screens and for paper."""

STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--panel:#fff;--ink:#1b2330;--dim:#667085;--line:#e3e7ee;
--accent:#3b6fd4;--bars:#b9c6dc;--bad:#e2725b;--code:#f1f3f7;--low:#7d8aa0;--medium:#c98a0a;
--high:#d9541e;--critical:#b3123f}
@media (prefers-color-scheme:dark){:root{--bg:#11151c;--panel:#191f29;--ink:#e4e8ef;--dim:#93a0b4;
--line:#2a323f;--accent:#7ea6ff;--bars:#46566f;--bad:#e2725b;--code:#222a36;--low:#8493ab;
--medium:#e0a93a;--high:#f0733d;--critical:#ef4a78}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 48px}
h1{font-size:28px;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:18px;margin:32px 0 10px}
h3{font-size:16px;margin:0;display:flex;gap:10px;align-items:baseline;overflow-wrap:anywhere}
p{margin:6px 0}header p,.facts,footer,small{color:var(--dim)}
.panel,.incident{background:var(--panel);border:1px solid var(--line);border-radius:10px;
padding:14px 18px;margin:0}
.list{padding-left:34px}
.cards{display:flex;flex-wrap:wrap;gap:10px;margin:18px 0}
.card{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:10px 18px;
min-width:112px;border-top:3px solid var(--accent)}
.card b{display:block;font-size:22px;font-variant-numeric:tabular-nums}
.card span{color:var(--dim);font-size:13px}
.card.low{border-top-color:var(--low)}.card.medium{border-top-color:var(--medium)}
.card.high{border-top-color:var(--high)}.card.critical{border-top-color:var(--critical)}
.notice,.ask{background:color-mix(in srgb,var(--medium) 13%,var(--panel));border-radius:8px;
padding:8px 14px;border-left:3px solid var(--medium)}
.incident{margin:0 0 12px;border-left:5px solid var(--low);scroll-margin-top:12px}
.incident:target{outline:2px solid var(--accent)}
.incident.medium{border-left-color:var(--medium)}.incident.high{border-left-color:var(--high)}
.incident.critical{border-left-color:var(--critical)}
.number{color:var(--dim);font-variant-numeric:tabular-nums}
.badge{margin-left:auto;font-size:12px;font-weight:600;border-radius:99px;padding:1px 10px;
color:#fff;background:var(--low);white-space:nowrap}
.badge.medium{background:var(--medium)}.badge.high{background:var(--high)}
.badge.critical{background:var(--critical)}
.facts{font-size:13px}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;font-weight:600}thead th{color:var(--dim);font-weight:500}
th,td{padding:4px 12px 4px 0;vertical-align:top}tbody tr+tr{border-top:1px solid var(--line)}
.said{margin:8px 0}.said th{width:116px;font-weight:500;color:var(--dim)}
.score{width:92px}.score span{display:block;height:6px;border-radius:3px;background:var(--accent);
margin-top:8px}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.where{color:var(--dim);min-width:150px}
.scroll{overflow-x:auto}
code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{background:var(--code);border-radius:4px;padding:1px 5px;overflow-wrap:anywhere}
pre{background:var(--code);border-radius:8px;padding:10px 14px;overflow-x:auto;margin:10px 0 4px}
details{border-top:1px solid var(--line);margin-top:8px;padding-top:6px}
summary{cursor:pointer;color:var(--accent);font-size:13.5px}
details ul{margin:6px 0;padding-left:22px;font-size:13.5px}
a{color:var(--accent)}
footer{margin-top:36px;font-size:13px}
.timeline{width:100%;height:auto;display:block}
.timeline text{font:11px system-ui,sans-serif;fill:var(--ink)}
.timeline .name{font-weight:600;font-size:12px}.timeline .dim{fill:var(--dim);font-size:10.5px}
.timeline .tick{text-anchor:middle}.timeline .end{text-anchor:end}
.timeline .floor{stroke:var(--line)}.timeline .grid{stroke:var(--line);stroke-dasharray:2 4}
.timeline .lines{fill:var(--bars)}.timeline .bad{fill:var(--bad)}
.mark text{fill:#fff;text-anchor:middle;font-size:9.5px;font-weight:600}
.mark rect{fill:var(--low)}.mark.medium rect{fill:var(--medium)}.mark.high rect{fill:var(--high)}
.mark.critical rect{fill:var(--critical)}.timeline a:hover rect{opacity:.75}
.legend{display:flex;flex-wrap:wrap;gap:16px;font-size:12.5px;color:var(--dim);margin:8px 0 0}
.key::before{content:"";display:inline-block;width:10px;height:10px;border-radius:3px;
margin-right:6px;background:var(--low)}
.key.lines::before{background:var(--bars)}.key.bad::before{background:var(--bad)}
.key.medium::before{background:var(--medium)}.key.high::before{background:var(--high)}
.key.critical::before{background:var(--critical)}
@media print{body{background:#fff}details{break-inside:avoid}.incident{break-inside:avoid}}
@media (max-width:640px){main{padding:18px 12px}.score{display:none}}
"""
