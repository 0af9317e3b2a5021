// Runs a script under Node 24 or newer: `node scripts/need-node.cjs SCRIPT ARG...`. Nearly every npm script begins
// with it, and bin/reeve uses its functions.
// Under an older Node it starts the Node that `npm ci` installed into node_modules, or prints in one line what to do.
// Every Node must be able to read this file: no syntax newer than ES5, only Node's own modules.
// Test: test/e2e/cli/bin.test.ts.
'use strict'
var fs = require('fs')
var path = require('path')

var MIN_MAJOR = 24
var ROOT = path.resolve(__dirname, '..')
var BUNDLED = path.join(ROOT, 'node_modules', 'node', 'bin', 'node')

function isOld() {
  return parseInt(process.versions.node, 10) < MIN_MAJOR
}

function fail(text) {
  process.stderr.write('reeve: ' + text + '\n')
  process.exit(1)
}

function advice() {
  var need = 'Node ' + MIN_MAJOR + ' or newer is needed and this is ' + process.version
  // A published package has no build script: there the user installs Node.
  if (!fs.existsSync(path.join(__dirname, 'build.mjs'))) return need + '; install it from https://nodejs.org, or run: npx -p node@' + MIN_MAJOR + ' reeve VERB'
  return need + '; `npm ci` installs it, but not with --ignore-scripts, --omit=dev or NODE_ENV=production. Run: npm ci --include=dev --ignore-scripts=false'
}

// Runs `args` with the bundled Node: passes signals on, and ends with the same code or signal.
function runBundled(args) {
  if (!fs.existsSync(BUNDLED)) return fail(advice())
  var child = require('child_process').spawn(BUNDLED, args, { stdio: 'inherit' })
  var names = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']
  names.forEach(function (name) {
    process.on(name, function () {
      // A terminal sends the other signals to the child, too. A second SIGINT would count as a second Ctrl+C.
      if (process.stdin.isTTY && name !== 'SIGTERM') return
      child.kill(name)
    })
  })
  child.on('error', function (error) {
    fail(BUNDLED + ' cannot be run (' + error.code + '). ' + advice())
  })
  child.on('exit', function (code, signal) {
    if (!signal) return process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

function main() {
  var script = process.argv[2]
  if (!script) return fail('usage: node scripts/need-node.cjs SCRIPT ARG...')
  script = path.resolve(script)
  if (!fs.existsSync(script)) return fail(script + ' does not exist')
  if (isOld()) return runBundled([script].concat(process.argv.slice(3)))
  // Runs the script in this process, as if the command line had named it.
  process.argv.splice(1, 2, script)
  require('module').runMain()
}

exports.isOld = isOld
exports.runBundled = runBundled
if (require.main === module) main()
