// Finds the commands in a shell command line, so that rules can judge each of them. Understands words, quotes, the operators between
// commands, and redirections that touch no file. Everything else, such as substitutions and other redirections, makes the line opaque: only
// a run would show its effect. Pure. Test: test/tables/drivers/native/permissions/shell-line.test.ts.

export interface ShellLine {
  /** the words of each command that was found */
  readonly commands: readonly (readonly string[])[]
  /** true if the line may do more than run these commands */
  readonly isOpaque: boolean
}

/** Matches the operator between two commands. A single `&` starts the command before it in the background. */
const SEPARATOR = /^(?:&&|\|\||\|&|[;|&\n])/
/** Matches redirections to or from /dev/null, and of one output to another of the same command. */
const HARMLESS_REDIRECTION = /^(?:\d?>&[12]|\d?>{1,2} ?\/dev\/null|&>{1,2} ?\/dev\/null|< ?\/dev\/null)(?=[\s;|&]|$)/
/** Matches white space and control characters that do not separate words in a shell. They look as if they did, so the line is opaque. */
const OTHER_BLANK = /^[\s\p{Cc}]/u
const KEYWORDS = '! [[ { } case coproc do done elif else esac fi for function if in select then time until while'
/** Commands of the shell that run a text as a command. */
const EVALUATORS = '. builtin command eval exec source trap'
/** Commands that change what later words mean. */
const SETTERS = 'alias bind enable env export hash read set shopt typeset unalias'
const OPAQUE_COMMANDS = new Set([KEYWORDS, EVALUATORS, SETTERS].flatMap((words) => words.split(' ')))
/** Programs and commands of the shell that run the command in their arguments. Others that do so are not known here. */
const RUNNERS = new Set([
  'chroot',
  'doas',
  'env',
  'command',
  'exec',
  'builtin',
  'nice',
  'nohup',
  'setsid',
  'stdbuf',
  'sudo',
  'time',
  'timeout',
  'xargs',
])

/** Parses a line. Never throws: an unfinished quote is opaque. */
export function parseShellLine(line: string): ShellLine {
  const commands: string[][] = []
  let words: string[] = []
  let isOpaque = false
  let rest = line
  const endCommand = (): void => {
    if (words.length > 0) commands.push(words)
    words = []
  }
  while (rest !== '') {
    const blank = /^(?:[ \t]|\\\n)+/.exec(rest)
    const harmless = HARMLESS_REDIRECTION.exec(rest)
    const separator = SEPARATOR.exec(rest)
    if (blank) rest = rest.slice(blank[0].length)
    else if (harmless) rest = rest.slice(harmless[0].length)
    else if (separator) {
      endCommand()
      rest = rest.slice(separator[0].length)
    } else if (OTHER_BLANK.test(rest)) {
      isOpaque = true
      rest = rest.slice(1)
    } else {
      const word = readWord(rest)
      isOpaque ||= word.isOpaque
      words.push(word.text)
      rest = rest.slice(word.length)
    }
  }
  endCommand()
  return { commands, isOpaque: isOpaque || commands.some(isOpaqueCommand) }
}

interface Word {
  readonly text: string
  readonly length: number
  readonly isOpaque: boolean
}

/** Reads the word at the beginning of a text, without its quotes. */
function readWord(text: string): Word {
  let word = ''
  // A comment hides the rest of its line from the shell, but not from this parser.
  let isOpaque = text.startsWith('#')
  let at = 0
  while (at < text.length) {
    const part = /^(?:'([^']*)'|"((?:[^"\\$`]|\\[\s\S])*)"|\\([\s\S])|([^\s\p{Cc};|&'"\\$`<>(){}]+))/u.exec(text.slice(at))
    if (part) {
      const [all, single, double, escaped, plain] = part
      word +=
        single ??
        double?.replaceAll(/\\([$`"\\\n])/g, (_, char: string) => (char === '\n' ? '' : char)) ??
        (escaped === '\n' ? '' : escaped) ??
        plain ??
        ''
      at += all.length
    } else if (/[\s\p{Cc};|&]/u.test(text[at] ?? '')) break
    else {
      // A substitution, a redirection, a group, an expansion of braces, or a quote that does not end.
      isOpaque = true
      word += text[at] ?? ''
      at += 1
    }
  }
  return { text: word, length: Math.max(1, at), isOpaque }
}

function isOpaqueCommand([name = '']: readonly string[]): boolean {
  return isAssignment(name) || OPAQUE_COMMANDS.has(name)
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(word)
}

/** Whether a command is one that a pattern names, and nothing else. `PREFIX:*` names each command that begins with these words. */
export function matchesCommandPattern(words: readonly string[], pattern: string): boolean {
  const isPrefix = pattern.endsWith(':*')
  const expected = (isPrefix ? pattern.slice(0, -2) : pattern).trim().split(/\s+/)
  return expected.every((word, index) => words[index] === word) && (isPrefix || words.length === expected.length)
}

/** Whether a command may be one that a pattern names, even behind assignments, with a path, or run by one of `RUNNERS`. */
export function mayMatchCommandPattern(words: readonly string[], pattern: string): boolean {
  const start = words.findIndex((word) => !isAssignment(word))
  if (start === -1) return false
  const [name = '', ...rest] = words.slice(start)
  if (matchesCommandPattern([baseName(name), ...rest], pattern) || matchesCommandPattern([name, ...rest], pattern)) return true
  return RUNNERS.has(baseName(name)) && rest.some((_, index) => mayMatchCommandPattern(rest.slice(index), pattern))
}

function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1)
}
