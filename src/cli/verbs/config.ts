// `reeve config`: what is in force here and who says so, and the user's file changed key by key. Reads and writes the files
// itself, so that it works without a daemon. Test: test/e2e/cli-config.test.ts.
import type * as Editing from '../../config/edit.ts'
import { nearest } from '../../config/nearest.ts'
import { paths } from '../../config/paths.ts'
import { Failure, UsageError } from '../errors.ts'
import { fit, safe } from '../text.ts'
import type { Call } from '../verbs.ts'

interface Action {
  /** words after its own: at least and at most */
  readonly words: readonly [number, number]
  readonly run: (call: Call, words: readonly string[]) => Promise<void>
}

const ACTIONS: Readonly<Record<string, Action>> = {
  show: { words: [0, 1], run: ({ out }, [key]) => (key === undefined ? showAll(out) : showOne(out, key)) },
  path: { words: [0, 0], run: ({ out }) => showPaths(out) },
  set: { words: [2, 2], run: ({ out }, [key = '', value = '']) => changed(out, ({ setKey }) => setKey(paths(), key, value)) },
  unset: { words: [1, 1], run: ({ out }, [key = '']) => changed(out, ({ unsetKey }) => unsetKey(paths(), key)) },
  trust: { words: [0, 1], run: ({ out }, [dir = '.']) => trustOne(out, dir) },
  untrust: { words: [0, 1], run: ({ out }, [dir = '.']) => changed(out, ({ untrust }) => untrust(paths(), dir)) },
}

export async function run(call: Call): Promise<number> {
  const [name = '', ...words] = call.args.words
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  if (!action) {
    const near = nearest(name, Object.keys(ACTIONS))
    throw new UsageError(`config ${name}: there is ${Object.keys(ACTIONS).join(', ')}`, near && `Did you mean \`reeve config ${near}\`?`)
  }
  const [least, most] = action.words
  if (words.length < least || words.length > most) {
    throw new UsageError(words.length < least ? `config ${name} needs more than that` : `config ${name} does not take "${words[most]}"`, 'See `reeve help config`; a value with spaces needs quotes.')
  }
  await action.run(call, words)
  return 0
}

/** Throws when a daemon could not start with the configuration as it is. */
export async function check(): Promise<void> {
  await (await edit()).explain({ paths: paths(), cwd: null, env: process.env })
}

type Edit = typeof Editing
type Out = Call['out']

/** Comes with packages, so it is loaded for this alone. */
function edit(): Promise<Edit> {
  return import('../../config/edit.ts')
}

/** For completion: what may stand for a word of this kind, with a word about it. */
export async function choices(kind: 'PROVIDER/NAME' | 'AGENT' | 'TOOL' | 'KEY'): Promise<readonly (readonly [string, string])[]> {
  const { agentChoices, keyChoices, modelChoices, toolChoices } = await import('../../config/choices.ts')
  const place = { paths: paths(), cwd: process.cwd(), env: process.env }
  switch (kind) {
    case 'PROVIDER/NAME': return modelChoices(place)
    case 'AGENT': return agentChoices(place)
    case 'TOOL': return toolChoices()
    case 'KEY': return keyChoices(place)
  }
}

async function showPaths(out: Out): Promise<void> {
  const { configFile, credentialsFile, agentsDir, state, socket, logFile } = paths()
  const named = { configFile, credentialsFile, agentsDir, state, socket, logFile }
  if (out.json) await out.value(named)
  else for (const [name, path] of Object.entries(named)) await out.line(`${name.padEnd(16)}${safe(path)}`)
}

const COMMENT_COLUMN = 40

async function showAll(out: Out): Promise<void> {
  const { explain, lineOf } = await edit()
  const entries = await explain({ paths: paths(), cwd: process.cwd(), env: process.env })
  if (out.json) {
    await out.value({ config: Object.fromEntries(entries.map(({ key, value }) => [key, value])), from: Object.fromEntries(entries.map(({ key, source, where }) => [key, { source, where }])) })
    return
  }
  for (const { key, value, source, where } of entries) {
    const [first = '', ...more] = safe(lineOf(key, value)).split('\n')
    await out.line(`${first.padEnd(COMMENT_COLUMN)} ${out.paint(source === 'default' ? 'dim' : 'cyan', `# ${safe(where)}`)}`)
    // `show KEY` has them whole.
    for (const line of more) await out.line(fit(line, out.columns, out.ellipsis))
  }
}

/** The value alone on stdout, for scripts; where it comes from beside it. */
async function showOne(out: Out, key: string): Promise<void> {
  const { asYaml, explain } = await edit()
  const entries = await explain({ paths: paths(), cwd: process.cwd(), env: process.env })
  const found = entries.find((entry) => entry.key === key)
  if (!found) {
    const near = nearest(key, entries.map((entry) => entry.key))
    throw new UsageError(`there is no key "${key}"`, near ? `Did you mean ${near}?` : `There are ${entries.map((entry) => entry.key).join(', ')}.`)
  }
  const { value, source, where } = found
  if (out.json) return out.value({ key, value, source, where })
  await out.line(safe(typeof value === 'string' ? value : asYaml(value)))
  await out.words(out.paintWords('dim', safe(`from: ${where}`)))
}

type Change = Awaited<ReturnType<Edit['setKey']>>

async function changed(out: Out, act: (edit: Edit) => Promise<Change>): Promise<void> {
  const module = await edit()
  const { key, before, after, file } = await writing(act(module))
  if (out.json) return out.value({ key, before: before ?? null, after: after ?? null, file })
  const shown = (value: unknown): string => (value === undefined ? 'not set' : module.flow(value))
  const same = shown(before) === shown(after)
  await out.words(safe(`${key}: ${same ? `${shown(after)}, as before` : `${shown(before)} -> ${shown(after)}`} (${file})`))
  await overruled(out, module, key)
}

/** What was written does not count where something stronger says otherwise. */
async function overruled(out: Out, { explain, flow }: Edit, key: string): Promise<void> {
  const now = (await explain({ paths: paths(), cwd: process.cwd(), env: process.env })).find((entry) => entry.key === key)
  if (now?.source === 'environment' || now?.source === 'project') await out.words(out.paintWords('yellow', safe(`here ${now.where} says ${flow(now.value)}, and that counts`)))
  if (key === 'maxProcesses') await out.words('it counts from the next start of the daemon on: `reeve daemon restart`')
}

async function trustOne(out: Out, dir: string): Promise<void> {
  const { trust } = await edit()
  const done = await writing(trust(paths(), dir))
  if (!('already' in done)) return changed(out, () => Promise.resolve(done))
  if (out.json) await out.value({ key: 'trusted', already: done.already })
  else await out.words(safe(`it is trusted already: ${done.already}`))
}

/** The system's own words for a file that cannot be written need a next step. */
async function writing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { syscall, path, code, message } = error as NodeJS.ErrnoException
    if (code === 'INVALID') throw new UsageError(message, 'Nothing was changed. `reeve help config` says what can be set, `reeve config show` what is.')
    if (syscall === undefined) throw error
    throw new Failure(1, `${path ?? paths().configFile} cannot be used (${code})`, 'Nothing was changed. `reeve config path` names the files; the directory must be yours and writable.')
  }
}
