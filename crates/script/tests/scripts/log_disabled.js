function () {
    console.log();
    console.log('nobody reads this');
}
