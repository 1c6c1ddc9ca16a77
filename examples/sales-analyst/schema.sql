create schema if not exists sales;
comment on schema sales is 'Sample sales data of the sales-analyst example. Amounts are in CNY.';

create table sales.orders (
  id bigint primary key,
  ordered_on date not null,
  product_line text not null,
  region text not null,
  customer text not null,
  status text not null check (status in ('completed', 'cancelled')),
  amount numeric(14, 2) not null
);
comment on table sales.orders is 'One row for each order. Revenue is the amount of completed orders in the month of ordered_on.';

create table sales.order_cancellations (
  order_id bigint primary key references sales.orders (id) on delete cascade,
  cancelled_on date not null,
  reason text not null
);
comment on table sales.order_cancellations is 'When and why an order was cancelled.';

create index orders_ordered_on on sales.orders (ordered_on);
create index orders_customer on sales.orders (customer);

create table sales.dataset (
  version integer not null,
  seed integer not null,
  loaded_at timestamptz not null default now()
);
comment on table sales.dataset is 'Marks the data as loaded. As long as a row is here, the loader changes nothing.';
