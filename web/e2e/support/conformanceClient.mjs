// The client that the conformance suite of the Model Context Protocol starts: it passes the address of the suite's server
// to a test, and ends when the test has used the server. Arguments: the address of the test, and that of the server.
const [test, server] = process.argv.slice(2)
const body = JSON.stringify({ server, context: JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') })
const response = await fetch(test, { method: 'POST', body })
process.stdout.write(await response.text())
process.exitCode = response.ok ? 0 : 1
