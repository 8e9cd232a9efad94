import { Markup, markup } from './markup.ts';

/** Hatches for GPUs of other jobs and for unusable GPUs. */
export const FABRIC_HATCHES = markup`<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="ground" width="4" height="4"></rect><path class="hatch" d="M0 0V4"></path></pattern><pattern id="cross" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V5M0 0H5"></path></pattern>`;

/** Style of the fabric drawing. */
export const FABRIC_STYLE = new Markup(`
svg{--page:#f5f7fa;--frame:#fff;--line:#cbd5e1;--ink:#0f172a;--muted:#4b586d;--free:#dde4ec;--busy:#94a3b8;font-family:system-ui,sans-serif}
@media (prefers-color-scheme:dark){svg{--page:#0b1220;--frame:#131c2e;--line:#2c3a55;--ink:#e6edf7;--muted:#9fb0c8;--free:#22304a;--busy:#64748b}}
.page{fill:var(--page)}.head{font-size:17px;font-weight:600;fill:var(--ink)}.note{font-size:11px;fill:var(--muted)}
.frame{fill:var(--frame);stroke:var(--line)}.d1{fill:var(--page)}.label{font-size:10px;font-weight:600;fill:var(--muted)}
.name{font-size:9px;fill:var(--muted)}.rank{font-size:9px;text-anchor:middle;fill:#0f172a}
.free,.ground{fill:var(--free)}.busy{fill:url(#hatch)}.unusable{fill:url(#cross)}.hatch{stroke:var(--busy);stroke-width:1.6;fill:none}
`);
