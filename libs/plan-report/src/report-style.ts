/** Style of the report: two colour schemes, one column on narrow screens, nothing loaded from elsewhere. */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--page:#f5f7fa;--panel:#fff;--ink:#0f172a;--muted:#4b586d;--line:#e2e8f0;--accent:#0e7490;--good:#15803d;
--held:#b45309;--bad:#b91c1c;--idle:#e8edf3;--forward:#3b82f6;--forward-odd:#93c5fd;--backward:#15803d;--backward-odd:#86c99b;
--weight:#b45309;--weight-odd:#e0aa6b;--on-pass:#fff;--on-odd:#0f172a;
font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);background:var(--page)}
@media (prefers-color-scheme:dark){:root{--page:#0b1220;--panel:#131c2e;--ink:#e6edf7;--muted:#9fb0c8;--line:#24314a;--accent:#22b8d6;
--good:#4ade80;--held:#fbbf24;--bad:#f87171;--idle:#1b2740;--forward:#2563eb;--forward-odd:#7db1ff;--backward:#15803d;--backward-odd:#7fd69a;
--weight:#a8580f;--weight-odd:#f0bd80;--on-pass:#fff;--on-odd:#0b1220}}
*{box-sizing:border-box}
body{margin:0;padding:1.5rem 1rem 3rem}
main{max-width:1080px;margin:0 auto}
h1{font-size:1.55rem;line-height:1.25;margin:0}
h2{font-size:1.05rem;margin:0 0 .8rem}
header p{color:var(--muted);margin:.3rem 0 1.2rem}
section{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:1.1rem 1.2rem;margin:0 0 1rem;overflow-wrap:anywhere}
.chosen-layout{font-size:1.2rem;font-weight:600;margin:0}
.choices,.note{color:var(--muted);margin:.2rem 0 0;font-size:.9rem}
.note{margin-top:.7rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.8rem 1.4rem;margin:1rem 0 0}
.cards dt{color:var(--muted);font-size:.8rem}
.cards dd{margin:0;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums}
.cards dd small{display:block;font-size:.8rem;font-weight:400;color:var(--muted)}
.fits,.cards .fits{color:var(--good)}.tight,.cards .tight{color:var(--held)}.doesNotFit,.cards .doesNotFit{color:var(--bad)}
.bar{display:grid;grid-template-columns:minmax(8rem,15rem) 1fr minmax(4.5rem,auto);gap:.1rem .8rem;align-items:center;margin:0 0 .45rem}
.bar-label{font-size:.88rem;line-height:1.3}
.bar-label small{display:block;color:var(--muted);font-size:.78rem}
.bar-total{font-variant-numeric:tabular-nums;text-align:right;font-size:.9rem}
.bar-track{width:100%;height:1.35rem;display:block;background:var(--idle);border-radius:3px}
.limit{fill:var(--bad)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;margin:.8rem 0 0;padding:0;font-size:.86rem}
.legend b{font-weight:500;font-variant-numeric:tabular-nums;color:var(--muted)}
.swatch{width:.75em;height:.75em;margin-right:.15em}
.limit-swatch{fill:var(--bad)}
.wide{overflow-x:auto}
.pipeline{width:100%;min-width:720px;display:block}
svg text{font:11px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--muted)}
.idle{fill:var(--idle)}
.pass{stroke:var(--panel);stroke-width:.6}
.pass-forward{fill:var(--forward)}.pass-forward.odd{fill:var(--forward-odd)}
.pass-backward,.pass-backward-input{fill:var(--backward)}.pass-backward.odd,.pass-backward-input.odd{fill:var(--backward-odd)}
.pass-backward-weight{fill:var(--weight)}.pass-backward-weight.odd{fill:var(--weight-odd)}
svg text.pass-number{font-size:9px;fill:var(--on-pass)}svg text.pass-number.odd{fill:var(--on-odd)}
.scatter{width:100%;max-width:560px;display:block}
.grid{stroke:var(--line)}
.limit-line{stroke:var(--bad);stroke-dasharray:4 3}
.front{fill:var(--panel);stroke:var(--accent);stroke-width:1.5}
.runner-up{fill:var(--accent);fill-opacity:.55}
.chosen{fill:var(--good);stroke:var(--panel);stroke-width:1}
table{border-collapse:collapse;width:100%;font-size:.88rem}
th{text-align:left;color:var(--muted);font-weight:500;font-size:.8rem;white-space:nowrap}
th,td{padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}
td.rule{white-space:nowrap}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td small{color:var(--muted)}
ul.plain{margin:0;padding-left:1.1rem}
@media (max-width:640px){body{padding:1rem .6rem 2rem}section{padding:.9rem .8rem}
.bar{grid-template-columns:1fr auto}.bar-label{grid-column:1/2}.bar-total{grid-column:2/3;grid-row:1}.bar-track{grid-column:1/-1}
table.stacked,table.stacked tbody,table.stacked tr,table.stacked td{display:block}
table.stacked thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
table.stacked tr{border-bottom:1px solid var(--line);padding:.4rem 0}table.stacked tr:last-child{border-bottom:0}
table.stacked td{border:0;padding:.05rem 0;text-align:left}table.stacked td.number{display:inline-block;margin-right:.9rem}
table.stacked td:empty{display:none}td.rule{white-space:normal}
table.stacked td[data-title]::before{content:attr(data-title) ': ';color:var(--muted);font-size:.8rem}}
@media print{section{break-inside:avoid}}
`;
