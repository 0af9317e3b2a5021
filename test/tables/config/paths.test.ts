// The paths for each kind of environment; the short socket path and the check of its directory.
import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkSocketDir, clientSocket, withAbsoluteHome, MAX_SOCKET_BYTES, pathsFrom, prepareState } from '../../../src/config/paths.ts'
import { tempDir } from '../../support/tmp.ts'

const uid = userInfo().uid
const LONG_PATH = `/srv/${'x'.repeat(120)}`

describe('the paths follow from', () => {
  test.each([
    ['an environment with HOME alone', { HOME: '/h' }, '/h/.config/reeve', '/h/.local/state/reeve'],
    ['an environment with XDG directories', { HOME: '/h', XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' }, '/c/reeve', '/s/reeve'],
    [
      'relative XDG directories, which are ignored',
      { HOME: '/h', XDG_CONFIG_HOME: 'c', XDG_STATE_HOME: './s' },
      '/h/.config/reeve',
      '/h/.local/state/reeve',
    ],
    ['REEVE_HOME, which overrides all', { HOME: '/h', XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', REEVE_HOME: '/r' }, '/r', '/r'],
    ['an empty REEVE_HOME, which is ignored', { HOME: '/h', REEVE_HOME: '' }, '/h/.config/reeve', '/h/.local/state/reeve'],
    ['a relative REEVE_HOME, which is made absolute', { HOME: '/h', REEVE_HOME: 'r' }, join(process.cwd(), 'r'), join(process.cwd(), 'r')],
  ])('%s', (_, env, config, state) => {
    expect(pathsFrom(env)).toEqual({
      home: state,
      config,
      configFile: `${config}/config.yaml`,
      credentialsFile: `${config}/credentials.yaml`,
      agentsDir: `${config}/agents`,
      state,
      socket: `${state}/reeve.sock`,
      daemonJson: `${state}/daemon.json`,
      holderFile: `${state}/daemon.pid`,
      logFile: `${state}/daemon.log`,
      lockDir: state,
    })
  })
})

test('the paths below a relative REEVE_HOME are absolute, because programs run in other directories', () => {
  expect(withAbsoluteHome({ HOME: '/h', REEVE_HOME: 'r' })).toEqual({ HOME: '/h', REEVE_HOME: join(process.cwd(), 'r') })
  for (const env of [{ HOME: '/h', REEVE_HOME: '/r' }, { HOME: '/h', REEVE_HOME: '' }, { HOME: '/h' }])
    expect(withAbsoluteHome(env)).toBe(env)
})

describe('the socket', () => {
  test('is in the state directory if its path has at most 100 bytes', () => {
    const longestHome = `/${'x'.repeat(MAX_SOCKET_BYTES - '//reeve.sock'.length)}`
    expect(pathsFrom({ REEVE_HOME: longestHome }).socket).toBe(`${longestHome}/reeve.sock`)
    expect(dirname(pathsFrom({ REEVE_HOME: `${longestHome}x` }).socket)).not.toBe(`${longestHome}x`)
    expect(dirname(pathsFrom({ REEVE_HOME: `${longestHome.slice(0, -1)}é` }).socket), 'bytes count, not characters').toBe(
      join(tmpdir(), `reeve-${uid}`),
    )
  })

  test.each([
    ['the runtime directory, if there is one', { REEVE_HOME: LONG_PATH, XDG_RUNTIME_DIR: '/run/user/7' }, '/run/user/7/reeve'],
    [
      'the directory for temporary files, if the runtime directory has a long path',
      { REEVE_HOME: LONG_PATH, XDG_RUNTIME_DIR: LONG_PATH },
      join(tmpdir(), `reeve-${uid}`),
    ],
    [
      'the directory for temporary files, if the runtime directory is relative',
      { REEVE_HOME: LONG_PATH, XDG_RUNTIME_DIR: 'run' },
      join(tmpdir(), `reeve-${uid}`),
    ],
    ['the directory for temporary files, if there is no runtime directory', { REEVE_HOME: LONG_PATH }, join(tmpdir(), `reeve-${uid}`)],
  ])('with a long path in the state directory is in %s', (_, env, dir) => {
    const { socket } = pathsFrom(env)
    expect(dirname(socket)).toBe(dir)
    expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(MAX_SOCKET_BYTES)
  })

  test('differs between two homes, and is always the same for one home', () => {
    expect(pathsFrom({ REEVE_HOME: LONG_PATH }).socket).toBe(pathsFrom({ REEVE_HOME: LONG_PATH }).socket)
    expect(pathsFrom({ REEVE_HOME: LONG_PATH }).socket).not.toBe(pathsFrom({ REEVE_HOME: `${LONG_PATH}/2` }).socket)
  })

  test('is refused in a state directory that other users can access, unless reeve can close the directory', async () => {
    await using dir = await tempDir()
    const paths = pathsFrom({ REEVE_HOME: join(dir.path, 'home') })
    mkdirSync(paths.state, { mode: 0o755 })
    writeFileSync(join(paths.state, 'letter.txt'), '')
    expect(() => prepareState(paths)).toThrow(/open to others; if only reeve uses it, run: chmod 700/)
    expect(statSync(paths.state).mode & 0o777).toBe(0o755)
    writeFileSync(join(paths.state, 'lock.db'), '')
    prepareState(paths)
    expect(statSync(paths.state).mode & 0o777).toBe(0o700)
  })

  test('has directories that the daemon creates closed, or closes', async () => {
    await using dir = await tempDir()
    const paths = pathsFrom({ REEVE_HOME: join(dir.path, 'x'.repeat(110)), XDG_RUNTIME_DIR: dir.path })
    mkdirSync(paths.state, { mode: 0o755 })
    prepareState(paths)
    expect(statSync(paths.state).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(paths.socket)).mode & 0o777).toBe(0o700)
  })

  test('is found through daemon.json if its path was shortened', async () => {
    await using dir = await tempDir()
    const paths = pathsFrom({ REEVE_HOME: join(dir.path, 'x'.repeat(110)), XDG_RUNTIME_DIR: dir.path })
    prepareState(paths)
    expect(clientSocket(paths)).toBe(paths.socket)
    writeFileSync(paths.daemonJson, '{"socket": "/run/elsewhere/s"}')
    expect(clientSocket(paths)).toBe('/run/elsewhere/s')
    writeFileSync(paths.daemonJson, '{"socket": "rela')
    expect(clientSocket(paths)).toBe(paths.socket)
    const shortPaths = pathsFrom({ REEVE_HOME: dir.path })
    writeFileSync(shortPaths.daemonJson, '{"socket": "/run/elsewhere/s"}')
    expect(clientSocket(shortPaths)).toBe(shortPaths.socket)
  })
})

describe('the check of the socket directory', () => {
  test('accepts the user’s own, and refuses one that is open, a link, or missing', async () => {
    await using dir = await tempDir()
    const socket = join(dir.path, 'd', 's')
    expect(() => checkSocketDir(socket)).toThrow(/ENOENT/)
    mkdirSync(dirname(socket), { mode: 0o700 })
    expect(() => checkSocketDir(socket)).not.toThrow()
    chmodSync(dirname(socket), 0o750)
    expect(() => checkSocketDir(socket)).toThrow(/open to others; run: chmod 700/)
    symlinkSync(dirname(socket), join(dir.path, 'link'))
    expect(() => checkSocketDir(join(dir.path, 'link', 's'))).toThrow(/not a directory/)
  })

  test('refuses a directory of another user', async () => {
    await using dir = await tempDir()
    // Root owns the system's root, so the test changes the owner of a directory instead.
    if (uid === 0) chownSync(dir.path, 1, 1)
    expect(() => checkSocketDir(join(uid === 0 ? dir.path : '/', 's'))).toThrow(/another user/)
  })
})

test.runIf(process.platform === 'linux')('a parent that forbids new entries is an error at once', () => {
  expect(() => prepareState(pathsFrom({ REEVE_HOME: '/proc/reeve/deep' }))).toThrow(/ENOENT/)
})
