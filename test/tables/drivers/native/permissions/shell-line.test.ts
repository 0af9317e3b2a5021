// The commands in a line of shell: their words, the patterns that match them, and which lines may do more than the words say.
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { matchesCommandPattern, mayMatchCommandPattern, parseShellLine } from '../../../../../src/drivers/native/permissions/shell-line.ts'

describe('a plain line', () => {
  test.each<[string, string[][]]>([
    ['npm test', [['npm', 'test']]],
    ['  npm   test  ', [['npm', 'test']]],
    ['npm test -- --watch=false', [['npm', 'test', '--', '--watch=false']]],
    [`echo 'a b' "c d" e\\ f`, [['echo', 'a b', 'c d', 'e f']]],
    [`r'm' "-r"f x`, [['rm', '-rf', 'x']]],
    [`echo "a \\"b\\" \\$c"`, [['echo', 'a "b" $c']]],
    [
      'npm ci && npm test',
      [
        ['npm', 'ci'],
        ['npm', 'test'],
      ],
    ],
    [
      'npm ci;npm test',
      [
        ['npm', 'ci'],
        ['npm', 'test'],
      ],
    ],
    [
      'npm ci\nnpm test',
      [
        ['npm', 'ci'],
        ['npm', 'test'],
      ],
    ],
    [
      'npm ci \\\n && npm test',
      [
        ['npm', 'ci'],
        ['npm', 'test'],
      ],
    ],
    ['npm c\\\ni', [['npm', 'ci']]],
    ['npm ci\\\n', [['npm', 'ci']]],
    [
      'npm test & npm run lint',
      [
        ['npm', 'test'],
        ['npm', 'run', 'lint'],
      ],
    ],
    ['npm test | head -5 |& cat', [['npm', 'test'], ['head', '-5'], ['cat']]],
    [
      'npm test || rm x',
      [
        ['npm', 'test'],
        ['rm', 'x'],
      ],
    ],
    ['npm test 2>&1 | tail', [['npm', 'test'], ['tail']]],
    ['npm test >/dev/null 2>/dev/null </dev/null', [['npm', 'test']]],
    ['ls *.ts', [['ls', '*.ts']]],
    ['', []],
  ])('%s', (line, commands) => {
    expect(parseShellLine(line)).toEqual({ commands, isOpaque: false })
  })
})

describe('a line is opaque because of', () => {
  test.each([
    ['a substitution', 'echo $(rm x)'],
    ['a substitution in quotes', 'echo "$(rm x)"'],
    ['backticks', 'echo `rm x`'],
    ['a variable', '$CMD x'],
    ['a variable in quotes', 'echo "$HOME"'],
    ['ANSI quotes', "echo $'a'"],
    ['an assignment', 'PATH=/tmp npm test'],
    ['an assignment alone', 'A=1; npm test'],
    ['an array', 'a[0]=1 npm test'],
    ['a redirection to a file', 'npm test > out'],
    ['an appending redirection', 'npm test >>out'],
    ['a redirection from a file', 'cat <in'],
    ['a redirection of both outputs', 'npm test &>out'],
    ['a redirection that only begins with /dev/null', 'npm test >/dev/nullx'],
    ['a here-document', 'cat <<E\nx\nE'],
    ['a process substitution', 'cat <(rm x)'],
    ['a subshell', '(rm x)'],
    ['a group', '{ rm x; }'],
    ['an expansion of braces', 'rm {a,b}'],
    ['a function', 'f() { rm x; }; f'],
    ['a loop', 'for i in 1; do rm x; done'],
    ['a condition', 'if true; then rm x; fi'],
    ['a negation', '! npm test'],
    ['eval', 'eval rm x'],
    ['a sourced file', '. ./x'],
    ['an alias', 'alias npm=rm; npm test'],
    ['a changed environment', 'export PATH=/tmp; npm test'],
    ['a trap', "trap 'rm x' EXIT; npm test"],
    ['a comment', 'npm test # x'],
    ['a quote without an end', "echo 'x"],
    ['double quotes without an end', 'echo "x'],
    ['a backslash at the end', 'echo x\\'],
    ['a carriage return', 'npm test\rrm'],
    ['a zero byte', 'npm test\0rm'],
    ['a space that is not one for a shell', 'npm test\u00a0x'],
  ])('%s', (_, line) => {
    expect(parseShellLine(line).isOpaque).toBe(true)
  })
})

test('a plain line runs exactly the commands that were found, in bash and in sh', () => {
  // A shell function stands for each program of the line, and prints its words.
  const characters = [...'ab \t\'"\\;|&\n#=*?[~-']
  const line = fc
    .array(fc.constantFrom(...characters, 'say', 'say a', '&& say', "'b c'"), { maxLength: 12 })
    .map((parts) => `say ${parts.join('')}`)
  fc.assert(
    fc.property(line, (text) => {
      const { commands, isOpaque } = parseShellLine(text)
      // A pipe and a command in the background print in no certain order. In `\\&&` only the second `&` is an operator.
      const operators = text.replaceAll(/\\./gs, 'x').replaceAll('&&', '')
      fc.pre(!isOpaque && commands.every(([name]) => name === 'say') && !/[*?[~]/.test(text) && !/[|&]/.test(operators))
      for (const shell of ['bash', 'sh']) {
        const program = `say() { printf '%s\\0' "$#" "$@"; }\n${text}`
        const printed = runOrFail(shell, program)
        // A line that the shell refuses runs nothing.
        if (printed === null) continue
        const expected = commands.map(([, ...words]) => [String(words.length), ...words].map((word) => `${word}\0`).join('')).join('')
        expect(printed, `${shell}: ${JSON.stringify(text)}`).toBe(expected)
      }
    }),
    { numRuns: 150 },
  )
})

function runOrFail(shell: string, program: string): string | null {
  try {
    return execFileSync(shell, ['-c', program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return null
  }
}

describe('a command with a pattern', () => {
  test.each<[string, string, boolean, boolean]>([
    ['npm test', 'npm test', true, true],
    ['npm test', 'npm test --watch', false, false],
    ['npm test:*', 'npm test', true, true],
    ['npm test:*', 'npm test --watch', true, true],
    ['npm test:*', 'npm testing', false, false],
    ['npm:*', 'npm publish', true, true],
    ['npm test:*', 'npm', false, false],
    ['rm:*', '/bin/rm x', false, true],
    ['rm:*', './rm x', false, true],
    ['rm:*', 'sudo rm x', false, true],
    ['rm:*', 'env A=1 rm x', false, true],
    ['rm:*', 'xargs -n1 rm', false, true],
    ['rm:*', 'timeout 5 nice rm x', false, true],
    ['rm:*', 'A=1 rm x', false, true],
    ['rm:*', 'echo rm', false, false],
    ['rm:*', 'A=1', false, false],
    ['git push:*', '/usr/bin/git push', false, true],
    ['git push:*', 'git -C x push', false, false],
  ])('`%s` matches the line `%s`: %s; it may match: %s', (pattern, line, isCertain, isPossible) => {
    const [words = []] = parseShellLine(line).commands
    expect([matchesCommandPattern(words, pattern), mayMatchCommandPattern(words, pattern)]).toEqual([isCertain, isPossible])
  })
})
