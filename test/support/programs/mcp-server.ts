// A hand-written MCP server on stdio, which can misbehave; mcp-newer-server.ts is the well-behaved one, made with the library. Arguments:
// the behaviour, a file for notes, and a mark by which a test finds the program.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [mode = '', log = ''] = process.argv.slice(2)

const SLOW_STEPS = 1_000
const FLOOD_REPORTS = 100_000

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: Record<string, unknown>
    readonly _meta?: { readonly progressToken?: number }
  }
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function writeNote(text: string): void {
  if (log !== '') appendFileSync(log, `${text}\n`)
}

const describeTool = (name: string): object => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object', ...(mode === 'leaky' ? { properties: { token: { default: process.env['TOKEN'] } } } : {}) },
})
const textResult = (text: string): object => ({ content: [{ type: 'text', text }] })
let extraToolCount = 0

/** The behaviour of each tool; some misbehave. */
function runTool({ id, params }: Message): void {
  const answer = (result: object): void => send({ id, result })
  const name = params?.name ?? ''
  writeNote(`call ${name}`)
  switch (name) {
    case 'echo':
      return answer(textResult(`echo ${JSON.stringify(params?.arguments)}`))
    case 'env':
      return answer(textResult(JSON.stringify(process.env)))
    case 'die':
      return process.exit(3)
    case 'hang':
      return
    case 'long-line':
      return void process.stdout.write('x'.repeat(17 * 1024 * 1024))
    case 'huge-json':
      return answer(textResult('y'.repeat(4 * 1024 * 1024)))
    case 'flood':
      return writeEndlessly(process.stdout, 'n'.repeat(1023))
    case 'answers':
      return writeEndlessly(
        process.stdout,
        JSON.stringify({ jsonrpc: '2.0', id: 'an unrequested answer', result: textResult('n'.repeat(256 * 1024)) }),
      )
    case 'shout': {
      process.stderr.write('z'.repeat(4 * 1024 * 1024), () => answer(textResult('shouted')))
      return
    }
    case 'progress-flood':
      return floodProgress(id, params?._meta?.progressToken ?? 0)
    case 'progress':
      return reportProgress(id, params?._meta?.progressToken ?? 0)
    case 'ask': {
      send({
        id: 'q1',
        method: 'elicitation/create',
        params: { message: 'who are you?', requestedSchema: { type: 'object', properties: {} } },
      })
      handleReply = (reply) => answer(textResult(JSON.stringify(reply)))
      return
    }
    case 'more': {
      extraToolCount += 1
      send({ method: 'notifications/tools/list_changed' })
      return answer(textResult('more'))
    }
    default:
      return answer(textResult(`did ${name}`))
  }
}

let handleReply: (reply: unknown) => void = () => undefined

/** Repeats a line for as long as the stream is read. */
function writeEndlessly(stream: NodeJS.WriteStream, line: string): void {
  const write = (): void => {
    while (stream.write(`${line}\n`));
    stream.once('drain', write)
  }
  write()
}

/** Sends FLOOD_REPORTS progress reports at once, and then the answer. */
function floodProgress(id: Message['id'], progressToken: number): void {
  const reports = Array.from({ length: FLOOD_REPORTS }, (_, index) => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress: index + 1 },
  }))
  process.stdout.write(`${reports.map((report) => JSON.stringify(report)).join('\n')}\n`)
  send({ id, result: textResult('told') })
}

/** Reports progress every 20 ms, until all steps are done or the call is cancelled. */
function reportProgress(id: Message['id'], progressToken: number): void {
  let step = 0
  const timer = setInterval(() => {
    step += 1
    send({ method: 'notifications/progress', params: { progressToken, progress: step, total: SLOW_STEPS, message: `step ${step}` } })
    if (step === SLOW_STEPS) done()
  }, 20)
  const done = (): void => {
    clearInterval(timer)
    send({ id, result: textResult('all steps') })
  }
  cancelProgress = () => {
    clearInterval(timer)
    writeNote('cancelled')
  }
}

let cancelProgress: () => void = () => undefined

const USUAL_TOOLS = [
  'echo',
  'env',
  'die',
  'hang',
  'long-line',
  'huge-json',
  'flood',
  'answers',
  'shout',
  'progress',
  'progress-flood',
  'ask',
  'more',
]
const TOOLS = mode === 'odd-names' ? ['constructor', 'toString', '__proto__'] : USUAL_TOOLS

function handleMessage(message: Message): void {
  const { id, method } = message
  if (id === 'q1') return handleReply(message)
  if (method === 'initialize')
    return send({
      id,
      result: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'fake', version: '1' } },
    })
  if (method === 'tools/list') return listTools(message)
  if (method === 'tools/call') return runTool(message)
  if (method === 'notifications/cancelled') return cancelProgress()
  if (id === undefined) return
  if (mode === 'ends-at-probe') process.exit(7)
  if (mode !== 'silent-probe') send({ id, error: { code: -32_601, message: `no ${method}` } })
}

/** Lists the tools in pages of four. */
function listTools({ id, params }: Message): void {
  const all = [...TOOLS, ...Array.from({ length: extraToolCount }, (_, index) => `extra-${index + 1}`)]
  const from = Number((params as { readonly cursor?: string } | undefined)?.cursor ?? 0)
  const next = from + 4
  if (mode === 'grows-at-once' && extraToolCount === 0 && next >= all.length) {
    extraToolCount = 1
    send({ method: 'notifications/tools/list_changed' })
  }
  // From here on the server reads nothing.
  if (mode === 'blind' && next >= all.length) {
    process.stdin.pause()
    setInterval(() => undefined, 60_000)
  }
  send({ id, result: { tools: all.slice(from, next).map(describeTool), ...(next < all.length ? { nextCursor: String(next) } : {}) } })
}

writeNote(`started ${process.pid}`)
if (mode === 'deaf') {
  process.on('SIGTERM', () => writeNote('SIGTERM'))
  setInterval(() => undefined, 60_000)
}
if (mode === 'noisy') process.stdout.write('Welcome to npm!\n{"half": \n[1,2]\n\n\u001b[31mred\n')
if (mode === 'crash') {
  process.stderr.write(`cannot start: TOKEN=${process.env['TOKEN'] ?? ''}\n`)
  process.exit(5)
}
if (mode === 'hang') setInterval(() => undefined, 60_000)
else {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => handleMessage(JSON.parse(line) as Message))
  lines.once('close', () => {
    writeNote('end of input')
    if (mode !== 'deaf') process.exit(0)
  })
}
