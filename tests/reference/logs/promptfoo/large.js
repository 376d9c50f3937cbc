// Answers all but every fifth question right.
module.exports = class {
  id() { return "large"; }
  async callApi(prompt) {
    const k = Number(prompt.match(/\d+$/)[0]);
    return { output: `${k % 5 ? "a" : "b"}${k}` };
  }
};
