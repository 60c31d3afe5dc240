// A stored procedure: creates a book and counts it for its author, or does neither.
function publishBook(book) {
  const shop = getContext().getCollection();
  const authorLink = `${shop.getAltLink()}/docs/${book.author}`;

  queued(shop.readDocument(authorLink, countBook));

  function countBook(error, author) {
    if (error) throw new Error(error.number, `there is no author ${book.author}`);
    author.countOfBooks += 1;
    queued(shop.replaceDocument(author._self, author, { etag: author._etag }, createBook));
  }

  function createBook(error, author) {
    if (error) throw error;
    const item = Object.assign({}, book, { type: "book" });
    queued(
      shop.createDocument(shop.getSelfLink(), item, (error, created) => {
        if (error) throw error;
        console.log(`${author.id} has ${author.countOfBooks} books`);
        getContext().getResponse().setBody({ id: created.id, countOfBooks: author.countOfBooks });
      }),
    );
  }

  // What is not queued never happens, so the whole has to be given up.
  function queued(isAccepted) {
    if (!isAccepted) throw new Error(429, "no time left");
  }
}
