// `reeve config`: shows the configuration in force with its sources, and changes single keys of the user's file. Reads and writes the
// files itself, so that it works without a daemon. No other file of the command line may import all of src/config.
// Test: test/e2e/cli/config.test.ts.
import type * as Editor from '../../../config/edit.ts'
import type * as Explainer from '../../../config/explain.ts'
import { closestWord } from '../../../kernel/util/did-you-mean.ts'
import { pathsFrom } from '../../../config/paths.ts'
import { Failure, UsageError } from '../../errors.ts'
import { fitWidth, stripControls } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

interface Action {
  /** the least and the greatest number of words after the action */
  readonly wordRange: readonly [number, number]
  readonly run: (call: VerbCall, words: readonly string[]) => Promise<void>
}

const ACTIONS: Readonly<Record<string, Action>> = {
  show: { wordRange: [0, 1], run: ({ out }, [key]) => (key === undefined ? showAll(out) : showOne(out, key)) },
  path: { wordRange: [0, 0], run: ({ out }) => showPaths(out) },
  set: { wordRange: [2, 2], run: ({ out }, [key = '', value = '']) => applyChange(out, ({ setKey }) => setKey(pathsFrom(), key, value)) },
  unset: { wordRange: [1, 1], run: ({ out }, [key = '']) => applyChange(out, ({ unsetKey }) => unsetKey(pathsFrom(), key)) },
  trust: { wordRange: [0, 1], run: ({ out }, [dir = '.']) => trustPath(out, dir) },
  untrust: {
    wordRange: [0, 1],
    run: ({ out }, [dir = '.']) => applyChange(out, ({ untrustDirectory }) => untrustDirectory(pathsFrom(), dir)),
  },
}

export async function run(call: VerbCall): Promise<number> {
  const [name = '', ...words] = call.args.words
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  if (!action) {
    const near = closestWord(name, Object.keys(ACTIONS))
    if (name === 'get' || name === 'list')
      throw new UsageError(`config ${name}: choose from ${Object.keys(ACTIONS).join(', ')}`, 'Did you mean `reeve config show`?')
    throw new UsageError(`config ${name}: choose from ${Object.keys(ACTIONS).join(', ')}`, near && `Did you mean \`reeve config ${near}\`?`)
  }
  const [least, most] = action.wordRange
  if (words.length < least || words.length > most) {
    throw new UsageError(
      words.length < least ? `config ${name} needs more arguments` : `config ${name} does not take "${words[most]}"`,
      'See `reeve help config`; a value with spaces needs quotes.',
    )
  }
  await action.run(call, words)
  return 0
}

/** Checks the configuration. Errors: those of a daemon that cannot start with this configuration. */
export async function checkConfig(): Promise<void> {
  await (await loadExplainer()).explainConfig({ paths: pathsFrom(), cwd: null, env: process.env })
}

type Out = VerbCall['out']

/** Loads config/explain.ts on demand, because it loads npm packages. */
function loadExplainer(): Promise<typeof Explainer> {
  return import('../../../config/explain.ts')
}

function loadEditor(): Promise<typeof Editor> {
  return import('../../../config/edit.ts')
}

/** Returns the completions for a kind of word, each with a description. */
export async function loadCompletions(kind: 'PROVIDER/NAME' | 'AGENT' | 'TOOL' | 'KEY'): Promise<readonly (readonly [string, string])[]> {
  const { agentChoices, keyChoices, modelChoices, toolChoices } = await import('../../../config/completion-values.ts')
  const sources = { paths: pathsFrom(), cwd: process.cwd(), env: process.env }
  switch (kind) {
    case 'PROVIDER/NAME':
      return modelChoices(sources)
    case 'AGENT':
      return agentChoices(sources)
    case 'TOOL':
      return toolChoices()
    case 'KEY':
      return keyChoices(sources)
  }
}

async function showPaths(out: Out): Promise<void> {
  const { configFile, credentialsFile, agentsDir, state, socket, logFile } = pathsFrom()
  const named = { configFile, credentialsFile, agentsDir, state, socket, logFile }
  if (out.json) await out.value(named)
  else for (const [name, path] of Object.entries(named)) await out.line(`${name.padEnd(16)}${stripControls(path)}`)
}

const COMMENT_COLUMN = 40

async function showAll(out: Out): Promise<void> {
  const { explainConfig, formatEntry } = await loadExplainer()
  const entries = await explainConfig({ paths: pathsFrom(), cwd: process.cwd(), env: process.env })
  if (out.json) {
    await out.value({
      config: Object.fromEntries(entries.map(({ key, value }) => [key, value])),
      from: Object.fromEntries(entries.map(({ key, source, where }) => [key, { source, where }])),
    })
    return
  }
  for (const { key, value, source, where } of entries) {
    const [first = '', ...more] = stripControls(formatEntry(key, value)).split('\n')
    await out.line(`${first.padEnd(COMMENT_COLUMN)} ${out.paint(source === 'default' ? 'dim' : 'cyan', `# ${stripControls(where)}`)}`)
    // These lines may be truncated; `show KEY` prints the complete value.
    for (const line of more) await out.line(fitWidth(line, out.columns, out.ellipsis))
  }
}

/** Prints the value on stdout, where scripts read it, and its source on stderr. */
async function showOne(out: Out, key: string): Promise<void> {
  const { formatYaml, findConfigEntry } = await loadExplainer()
  const { value, source, where } = await withHint(
    findConfigEntry({ paths: pathsFrom(), cwd: process.cwd(), env: process.env }, key),
    SHOW_HINT,
  )
  if (out.json) return out.value({ key, value, source, where })
  await out.line(stripControls(typeof value === 'string' ? value : formatYaml(value)))
  await out.message(out.paintMessage('dim', stripControls(`from: ${where}`)))
}

type Change = Editor.Change

async function applyChange(out: Out, act: (editor: typeof Editor) => Promise<Change>): Promise<void> {
  const { key, before, after, file } = await withWriteHint(act(await loadEditor()))
  if (out.json) return out.value({ key, before: before ?? null, after: after ?? null, file })
  const { explainConfig, inlineYaml } = await loadExplainer()
  const valueText = (value: unknown): string => (value === undefined ? 'not set' : inlineYaml(value))
  const isUnchanged = valueText(before) === valueText(after)
  await out.message(
    stripControls(`${key}: ${isUnchanged ? `${valueText(after)}, as before` : `${valueText(before)} -> ${valueText(after)}`} (${file})`),
  )
  await warnOfOverride(out, { explainConfig, inlineYaml }, key)
}

/** Warns if the environment or the project overrides the written value. */
async function warnOfOverride(
  out: Out,
  { explainConfig, inlineYaml }: Pick<typeof Explainer, 'explainConfig' | 'inlineYaml'>,
  key: string,
): Promise<void> {
  const now = (await explainConfig({ paths: pathsFrom(), cwd: process.cwd(), env: process.env })).find((entry) => entry.key === key)
  if (now?.source === 'environment' || now?.source === 'project')
    await out.message(out.paintMessage('yellow', stripControls(`${now.where} sets ${inlineYaml(now.value)} here, and overrides it`)))
  if (key === 'maxProcesses') await out.message('it takes effect at the next start of the daemon: `reeve daemon restart`')
}

async function trustPath(out: Out, dir: string): Promise<void> {
  const { trustDirectory } = await loadEditor()
  const done = await withWriteHint(trustDirectory(pathsFrom(), dir))
  if (!('already' in done)) return applyChange(out, () => Promise.resolve(done))
  if (out.json) await out.value({ key: 'trusted', already: done.already })
  else await out.message(stripControls(`already trusted: ${done.already}`))
}

const SHOW_HINT = '`reeve config show` lists the keys.'
const WRITE_HINT = 'Nothing was changed. `reeve help config` explains the keys, `reeve config show` lists them.'

function withWriteHint<T>(work: Promise<T>): Promise<T> {
  return withHint(work, WRITE_HINT)
}

/** Adds hints to errors about invalid values and unwritable files. `hint`: about keys. */
async function withHint<T>(work: Promise<T>, hint: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { syscall, path, code, message } = error as NodeJS.ErrnoException
    if (code === 'INVALID') throw new UsageError(message, hint)
    if (syscall === undefined) throw error
    throw new Failure(
      1,
      `${path ?? pathsFrom().configFile} cannot be used (${code})`,
      'Nothing was changed. `reeve config path` names the files; the directory must be yours and writable.',
    )
  }
}
