// Runs a script under Node 24 or newer: `node scripts/need-node.cjs SCRIPT ARG...`. Every npm script begins with it.
// Under an older Node it starts the one that `npm ci` put into node_modules, or says in one line what to do.
// Must be readable by any Node that ever was: no syntax newer than ES5, nothing but node's own modules.
// Test: test/e2e/bin.test.ts.
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
  // A published package has no build script: there the Node is the user's own affair.
  if (!fs.existsSync(path.join(__dirname, 'build.mjs'))) return need + '; install it from https://nodejs.org, or run: npx -p node@' + MIN_MAJOR + ' -p reeve reeve'
  return need + '; `npm ci` brings it along, but not with --ignore-scripts, --omit=dev or NODE_ENV=production. Run: npm ci --include=dev --ignore-scripts=false'
}

// Runs `args` with the bundled Node in place of this one, as far as a parent can be like its child.
function again(args) {
  if (!fs.existsSync(BUNDLED)) return fail(advice())
  var child = require('child_process').spawn(BUNDLED, args, { stdio: 'inherit' })
  var names = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']
  names.forEach(function (name) {
    process.on(name, function () {
      // A terminal has sent these to the child too; twice would be a second Ctrl+C.
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
  if (!fs.existsSync(script)) return fail(script + ' is not there')
  if (isOld()) return again([script].concat(process.argv.slice(3)))
  // Goes on in this very process, as if the script had been named on the command line.
  process.argv.splice(1, 2, script)
  require('module').runMain()
}

exports.isOld = isOld
exports.again = again
if (require.main === module) main()
