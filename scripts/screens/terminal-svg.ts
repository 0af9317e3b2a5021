// Draws what a terminal shows as SVG: one screen, or several in turn. Each word has its own place, so that columns stay aligned in each
// browser and font. Takes lines with colours, as tmux captures them. Used by scripts/screens.ts.
import { displayWidth } from '../../src/cli/print/text.ts'

const COLOURS: Readonly<Record<number, string>> = {
  31: '#f85149',
  32: '#3fb950',
  33: '#d29922',
  34: '#58a6ff',
  35: '#bc8cff',
  36: '#39c5cf',
  90: '#8b949e',
}
const [TEXT, DIM, BACK] = ['#c9d1d9', '#8b949e', '#0d1117']
const [CHAR_PX, LINE_PX, MARGIN_PX] = [8.4, 19, 16]
/** the height of letters above the baseline, and the distance of the baseline from the top of its line */
const [ASCENT_PX, BASELINE_PX] = [10, 14]
/** The bars of a pause: many systems lack them, or draw a picture that is wider than a column. */
const PAUSE = '\u23f8'
/** The mark of the selected row: many fonts draw it higher than a line. */
const CURSOR = '\u258c'

/** One screen of a moving picture, and how long it stays. */
export interface Frame {
  readonly text: string
  readonly stayMs: number
}

export interface PictureSize {
  readonly columns: number
  readonly rows: number
  /** what the picture shows, for readers who do not see it */
  readonly label: string
}

interface Style {
  colour: string
  bold: boolean
  dim: boolean
  inverse: boolean
}
const PLAIN: Style = { colour: TEXT, bold: false, dim: false, inverse: false }

export function toSvg(screen: string, columns: number, label: string): string {
  const lines = screenLines(screen)
  return svgOf(lines, { columns, rows: lines.length, label })
}

/** The frames one after the other, in a loop. If the reader prefers reduced motion, only the last one is shown. */
export function toMovingSvg(frames: readonly Frame[], size: PictureSize): string {
  const totalMs = frames.reduce((sum, { stayMs }) => sum + stayMs, 0)
  let startMs = 0
  const groups = frames.map(({ text, stayMs }, index) => {
    const share = (ms: number): string => ((100 * ms) / totalMs).toFixed(2)
    const steps = `0%{opacity:${startMs === 0 ? 1 : 0}}${share(startMs)}%{opacity:1}${share((startMs += stayMs))}%,100%{opacity:0}`
    const isLast = index === frames.length - 1
    return {
      style: `@keyframes f${index}{${isLast ? steps.replace(/[\d.]+%,100%/, '100%') : steps}}.f${index}{animation:f${index} ${totalMs}ms step-end infinite}`,
      lines: [`<g class="f${index}"${isLast ? '' : ' opacity="0"'}>`, ...screenLines(text), '</g>'],
    }
  })
  const style = `<style>${groups.map((group) => group.style).join('')}@media (prefers-reduced-motion: reduce){g{animation:none!important}}</style>`
  return svgOf([style, ...groups.flatMap(({ lines }) => lines)], size)
}

function svgOf(body: readonly string[], { columns, rows, label }: PictureSize): string {
  const [width, height] = [Math.ceil(columns * CHAR_PX) + 2 * MARGIN_PX, rows * LINE_PX + 2 * MARGIN_PX]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${BACK}"/>`,
    '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
    ...body,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** A drawn mark, a gap, or words that single spaces separate. */
const WORD = new RegExp(`[${PAUSE}${CURSOR}]|[^ ${PAUSE}${CURSOR}]+(?: [^ ${PAUSE}${CURSOR}]+)*| +`, 'g')

/** Each line of a screen as one line of SVG. A colour lasts until another one is set, also across lines. */
function screenLines(screen: string): string[] {
  const style = { ...PLAIN }
  return screen.split('\n').map((line, row) => {
    let column = 0
    const shapes: string[] = []
    const words: string[] = []
    for (const part of line.split(/(\x1b\[[\d;]*m)/)) {
      const codes = /^\x1b\[([\d;]*)m$/.exec(part)?.[1]
      if (codes !== undefined) {
        for (const code of codes.split(';').map(Number)) apply(code, style)
        continue
      }
      const end = column + displayWidth(part)
      if (style.inverse && part !== '') shapes.push(block(column, end, row, TEXT))
      for (const [word] of part.matchAll(WORD)) {
        if (word === PAUSE) shapes.push(pauseMark(column, row, style))
        else if (word === CURSOR) shapes.push(block(column, column + 0.5, row, fillOf(style)))
        else if (word.trim() !== '') words.push(textSpan(word, column, style))
        column += displayWidth(word)
      }
    }
    const text = words.length === 0 ? '' : `<text y="${baselineOf(row)}">${words.join('')}</text>`
    return shapes.join('') + text
  })
}

const xOf = (column: number): string => String(Number((MARGIN_PX + column * CHAR_PX).toFixed(1)))
const baselineOf = (row: number): number => MARGIN_PX + BASELINE_PX + row * LINE_PX

/** Columns of one colour: the background of an inverse text, or a mark. */
function block(from: number, to: number, row: number, fill: string): string {
  const width = Number(((to - from) * CHAR_PX).toFixed(1))
  return `<rect x="${xOf(from)}" y="${MARGIN_PX + row * LINE_PX}" width="${width}" height="${LINE_PX}" fill="${fill}"/>`
}

function pauseMark(column: number, row: number, style: Style): string {
  const [x, top] = [Number(xOf(column)) + 1.2, baselineOf(row) - ASCENT_PX + 0.5]
  const bar = (at: number): string => `M${at.toFixed(1)} ${top}h2.2v${ASCENT_PX - 1}h-2.2z`
  return `<path d="${bar(x)}${bar(x + 3.8)}" fill="${fillOf(style)}"/>`
}

function fillOf({ colour, dim, inverse }: Style): string {
  return inverse ? BACK : dim ? DIM : colour
}

function textSpan(text: string, column: number, style: Style): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<tspan x="${xOf(column)}" fill="${fillOf(style)}"${style.bold ? ' font-weight="bold"' : ''}>${escaped}</tspan>`
}

function apply(code: number, style: Style): void {
  if (code === 0) Object.assign(style, PLAIN)
  else if (code === 1) style.bold = true
  else if (code === 2) style.dim = true
  else if (code === 7) style.inverse = true
  else if (code === 22) Object.assign(style, { bold: false, dim: false })
  else if (code === 27) style.inverse = false
  else if (code === 39) style.colour = TEXT
  else style.colour = COLOURS[code] ?? style.colour
}
