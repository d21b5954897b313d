// SPDX-License-Identifier: MIT
// A plugin for opencode: has `cordon hook opencode` judge the files of its tools, and tell the model what was
// refused to its commands. Copy it to ~/.config/opencode/plugin/cordon.js. docs/agents.md says what that is worth.
import { spawn } from "node:child_process"

const CORDON = process.env.CORDON ?? "cordon"

// What the hook has to say: nothing, a refusal, or something to read. Any failure is a refusal.
function ask(call) {
  return new Promise((resolve, reject) => {
    const hook = spawn(CORDON, ["hook", "opencode"], { stdio: ["pipe", "pipe", "pipe"] })
    let out = "", err = ""
    hook.stdout.on("data", (data) => (out += data))
    hook.stderr.on("data", (data) => (err += data))
    hook.on("error", (error) => reject(new Error(`cordon hook: ${error.message}`)))
    hook.on("close", (status) => {
      if (status !== 0) return reject(new Error(err.trim() || `cordon hook ended with ${status}`))
      try {
        resolve(out.trim() ? JSON.parse(out) : {})
      } catch (error) {
        reject(new Error(`cordon hook: ${error.message}`))
      }
    })
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(call))
  })
}

export const CordonPlugin = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = await ask({ event: "tool.execute.before", tool: input.tool, directory, args: output.args ?? {} })
    if (answer.decision === "deny") throw new Error(answer.reason)
  },
  "tool.execute.after": async (input, output) => {
    if (input.tool !== "bash") return
    const answer = await ask({ event: "tool.execute.after", tool: input.tool, directory, args: input.args ?? {} })
    const text = answer.hookSpecificOutput?.additionalContext
    if (text) output.output = `${output.output}\n\n${text}`
  },
})
