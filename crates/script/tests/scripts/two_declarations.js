// A body may declare helpers after its function.
function main() { __.response.setBody(helper()); }
function helper() { return 'helped'; }
